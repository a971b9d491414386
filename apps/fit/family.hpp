// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <optional>
#include <string_view>

#if defined(__CUDACC__)
#define TESSERA_FIT_HOST_DEVICE __host__ __device__
#else
#define TESSERA_FIT_HOST_DEVICE
#endif

/// The exponential families of the fit, each with mgcv's default link (the Gamma with log). The
/// functions of one row are the same source on the host and on a GPU.
namespace tessera::fit {

/// `custom` is a family of the user's own (`CustomFamily`), which the functions here do not know.
enum class Family { gaussian, binomial, poisson, gamma, custom };

[[nodiscard]] std::optional<Family> parse_family(std::string_view text);
[[nodiscard]] std::string_view family_name(Family family);
[[nodiscard]] std::string_view link_name(Family family);
/// True where phi is 1 by definition (binomial, poisson).
[[nodiscard]] bool scale_is_known(Family family);
/// Why `y` cannot be a response of the family ("must be between 0 and 1"); nothing if it can.
[[nodiscard]] std::optional<std::string_view> response_fault(Family family, double y);
/// aic's -2 log-likelihood part for one row at the given scale, as R's family()$aic adds it up. mgcv's
/// bam()$aic is the sum over the rows at `aic_scale`, plus 2 where the scale is estimated, plus twice the
/// total edf. Infinite for a poisson count that is not whole, as in R; 0 for a row without weight; NaN for a
/// custom family, whose density is not known.
[[nodiscard]] double minus_two_log_likelihood(Family family, double y, double mu, double weight,
                                              double scale);
/// The scale at which aic takes the likelihood: deviance / n (gaussian), the fit's own (Gamma), or 1.
[[nodiscard]] double aic_scale(Family family, double deviance, double rows, double scale);
/// Link of the mean, and its inverse's derivative for standard errors on the response scale.
[[nodiscard]] double link(Family family, double mu);

/// What one row gives to a step of performance iteration.
struct RowStep {
  double weight;    ///< w = prior (dmu/deta)^2 / V(mu), Fisher
  double residual;  ///< working residual (y - mu) dη/dμ; the working response is eta - offset + this
  double deviance;  ///< of this row, with its prior weight
};

TESSERA_FIT_HOST_DEVICE inline double inverse_link(Family family, double eta) {
  switch (family) {
    case Family::gaussian: return eta;
    case Family::binomial: {
      // mgcv and R clamp eta so that mu stays off 0 and 1 by the machine epsilon.
      constexpr double epsilon = 2.220446049250313e-16;
      const double e = eta < -30 ? epsilon : eta > 30 ? 1 / epsilon : exp(eta);
      return e / (1 + e);
    }
    default: {
      const double mu = exp(eta);
      return mu > 2.220446049250313e-16 ? mu : 2.220446049250313e-16;
    }
  }
}

/// dμ/dη at eta.
TESSERA_FIT_HOST_DEVICE inline double mean_derivative(Family family, double eta) {
  switch (family) {
    case Family::gaussian: return 1;
    case Family::binomial: {
      constexpr double epsilon = 2.220446049250313e-16;
      if (eta < -30 || eta > 30) return epsilon;
      const double e = exp(eta);
      return e / ((1 + e) * (1 + e));
    }
    default: {
      const double mu = exp(eta);
      return mu > 2.220446049250313e-16 ? mu : 2.220446049250313e-16;
    }
  }
}

/// y log(y / mu), 0 at y = 0.
TESSERA_FIT_HOST_DEVICE inline double y_log_y(double y, double mu) {
  return y > 0 ? y * log(y / mu) : 0;
}

TESSERA_FIT_HOST_DEVICE inline double row_deviance(Family family, double y, double mu, double prior) {
  switch (family) {
    case Family::gaussian: return prior * (y - mu) * (y - mu);
    case Family::binomial: return 2 * prior * (y_log_y(y, mu) + y_log_y(1 - y, 1 - mu));
    case Family::poisson: return 2 * prior * (y_log_y(y, mu) - (y - mu));
    case Family::gamma: return -2 * prior * (log(y > 0 ? y / mu : 1.0) - (y - mu) / mu);
    case Family::custom: break;
  }
  return 0;
}

/// The mean that the first step starts from.
TESSERA_FIT_HOST_DEVICE inline double initial_mean(Family family, double y, double prior) {
  switch (family) {
    case Family::binomial: return (prior * y + 0.5) / (prior + 1);
    case Family::poisson: return y + 0.1;
    default: return y;
  }
}

TESSERA_FIT_HOST_DEVICE inline RowStep row_step(Family family, double y, double eta, double prior) {
  const double mu = inverse_link(family, eta);
  const double slope = mean_derivative(family, eta);
  double variance = 1;
  switch (family) {
    case Family::gaussian: break;
    case Family::binomial: variance = mu * (1 - mu); break;
    case Family::poisson: variance = mu; break;
    case Family::gamma: variance = mu * mu; break;
    case Family::custom: break;
  }
  return {prior * slope * slope / variance, (y - mu) / slope, row_deviance(family, y, mu, prior)};
}

}  // namespace tessera::fit
