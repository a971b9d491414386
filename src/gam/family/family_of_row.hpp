// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

/// What a family is to one row: plain functions, the same source on the host and in a kernel.
namespace tessera::gam {

/// `custom` is a family of the user's own (`CustomFamily`), which the functions here do not know.
enum class Family { gaussian, binomial, poisson, gamma, custom };

/// What one row gives to a step of performance iteration.
struct RowStep {
  double weight;    ///< w = prior (dmu/deta)^2 / V(mu), Fisher
  double residual;  ///< working residual (y - mu) dη/dμ; the working response is eta - offset + this
  double deviance;  ///< of this row, with its prior weight
};

inline double inverse_link(Family family, double eta) {
  switch (family) {
    case Family::gaussian: return eta;
    case Family::binomial: {
      // mgcv and R clamp eta so that mu stays off 0 and 1 by the machine epsilon.
      constexpr double epsilon = 2.220446049250313e-16;
      const double e = eta < -30 ? epsilon : eta > 30 ? 1 / epsilon : exp(eta);
      return e / (1 + e);
    }
    case Family::gamma: {
      // A mean has a unit: nothing is small for it but what is no number any more.
      const double mu = exp(eta);
      return mu > 2.2250738585072014e-308 ? mu : 2.2250738585072014e-308;
    }
    default: {
      const double mu = exp(eta);
      return mu > 2.220446049250313e-16 ? mu : 2.220446049250313e-16;
    }
  }
}

/// dμ/dη at eta.
inline double mean_derivative(Family family, double eta) {
  switch (family) {
    case Family::gaussian: return 1;
    case Family::binomial: {
      constexpr double epsilon = 2.220446049250313e-16;
      if (eta < -30 || eta > 30) return epsilon;
      const double e = exp(eta);
      return e / ((1 + e) * (1 + e));
    }
    default: return inverse_link(family, eta);  // of the logarithm
  }
}

/// y log(y / mu), 0 at y = 0.
inline double y_log_y(double y, double mu) {
  return y > 0 ? y * log(y / mu) : 0;
}

inline double row_deviance(Family family, double y, double mu, double prior) {
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
inline double initial_mean(Family family, double y, double prior) {
  switch (family) {
    case Family::binomial: return (prior * y + 0.5) / (prior + 1);
    case Family::poisson: return y + 0.1;
    default: return y;
  }
}

inline RowStep row_step(Family family, double y, double eta, double prior) {
  const double mu = inverse_link(family, eta);
  const double slope = mean_derivative(family, eta);
  double variance = 1;
  switch (family) {
    case Family::gaussian: break;
    case Family::binomial: variance = mu * (1 - mu); break;
    case Family::poisson: variance = mu; break;
    // The slope is the mean, and its square may be beyond all numbers.
    case Family::gamma: return {prior, (y - mu) / mu, row_deviance(family, y, mu, prior)};
    case Family::custom: break;
  }
  return {prior * slope * slope / variance, (y - mu) / slope, row_deviance(family, y, mu, prior)};
}

}  // namespace tessera::gam
