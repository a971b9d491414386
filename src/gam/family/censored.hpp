// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/math/normal_interval.hpp"
#include "gam/family/parts.hpp"
#include "gam/family/response.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Responses mu + sigma error, some known only to lie between limits. A prior weight divides sigma^2. `Error`
/// has the likelihood of an error at a point, and of one in an interval. As in mgcv the weight of a row is
/// its observed information on the mean, and the deviance is relative to the likeliest mean of the row.
template <class Error>
struct CensoredLocation : UsualLink<Link::identity> {
  static constexpr Link links[] = {Link::identity, Link::log, Link::sqrt};
  static constexpr bool scale_is_known = true;
  static constexpr Start start = Start::response;
  static constexpr bool null_is_likeliest = true;
  static constexpr bool is_censored = true;
  static constexpr char residuals[] = " Those of censored rows are of their limits.";

  static constexpr int parameter_count = 1;
  static constexpr int shown_count = 1;
  static constexpr char at_limit[] = "the model may fit the uncensored rows exactly, or none is there";
  static const char* parameter_name(int) { return "sigma"; }
  static double first_working(int) { return 0; }
  static double working(int, double value) { return log(value); }
  static double parameter_at(int, double working) { return exp(working); }

  constexpr explicit CensoredLocation(const double* values) : sigma(values[0]) {}
  [[nodiscard]] double parameter(int) const { return sigma; }

  static const char* response_fault(double) { return nullptr; }
  static double first_mean(double y, double) { return y; }

  [[nodiscard]] RowStep<double> step(Response y, double mu, double prior) const {
    if (prior == 0) return {0, 0, 0};
    const double unit = sigma / sqrt(prior);
    const base::ErrorLikelihood at = likelihood(y, mu, unit);
    // A row whose limits are far from the mean carries no information.
    const double residual = at.information > 0 ? unit * at.slope / at.information : 0 * at.slope;
    return {at.information / (unit * unit), residual, 2 * (log_of_likeliest(y, unit) - at.log)};
  }
  [[nodiscard]] double deviance(Response y, double mu, double prior) const {
    return step(y, mu, prior).deviance;
  }
  [[nodiscard]] double minus_two_log_likelihood(Response y, double mu, double weight, double) const {
    const double unit = sigma / sqrt(weight);
    return -2 * (likelihood(y, mu, unit).log + (y.is_censored() ? 0 : Error::log_peak - log(unit)));
  }

  /// The family for a row with this prior weight (above 0). Its likelihood includes the weight, and is not
  /// multiplied by it.
  [[nodiscard]] CensoredLocation of_weight(double prior) const {
    const double unit = sigma / sqrt(prior);
    return CensoredLocation(&unit);
  }
  void likelihood_terms(Response y, double mu, double* terms) const {
    const base::ErrorLikelihood at = likelihood(y, mu, sigma);
    terms[0] = -at.log + (y.is_censored() ? 0 : log(sigma));
    terms[1] = -at.by_log_scale;
    terms[2] = -at.by_log_scale_twice;
  }

  double sigma;

 private:
  static base::ErrorLikelihood likelihood(Response y, double mu, double unit) {
    if (!y.is_censored()) return Error::at((y.value - mu) / unit);
    const double low = y.lower();
    const double high = y.upper();
    return Error::between((low - mu) / unit, (high - mu) / unit, (high - low) / unit);
  }
  /// The log likelihood at the likeliest mean, which is midway between the limits.
  static double log_of_likeliest(Response y, double unit) {
    const double width = (y.upper() - y.lower()) / unit;
    return width > 0 && width < std::numeric_limits<double>::infinity()
               ? Error::between(-width / 2, width / 2, width).log
               : 0;
  }
};

}  // namespace TESSERA_NAMESPACE::gam
