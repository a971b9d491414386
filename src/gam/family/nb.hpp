// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/parts.hpp"
#include "gam/family/rising_factorial.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Negative binomial counts, overdispersed relative to Poisson: V(mu) = mu + mu^2 / theta, with the log link.
/// The working parameter is log(theta), estimated by `fit/pirls/parameter_step.hpp`.
struct Nb : UsualParts {
  static constexpr char name[] = "nb";
  static constexpr Link links[] = {Link::log, Link::identity, Link::sqrt};
  static constexpr bool scale_is_known = true;
  static constexpr Start start = Start::adjusted;
  static constexpr Limits limits{.lower = 0};
  static constexpr char residuals[] = " They are close to normal only where means and theta are large.";

  static constexpr int parameter_count = 1;
  static constexpr int shown_count = 1;
  static constexpr char title[] = "Negative Binomial(";
  static constexpr char at_limit[] = "the response varies no more than a Poisson one";
  static const char* parameter_name(int) { return "theta"; }
  static double first_working(int) { return 0; }
  static double working(int, double value) { return log(value); }
  static double parameter_at(int, double working) { return exp(working); }

  constexpr explicit Nb(const double* parameters) : theta(parameters[0]) {}
  [[nodiscard]] double parameter(int) const { return theta; }

  static const char* response_fault(double y) { return y < 0 ? "must not be negative" : nullptr; }
  static double link(double mu) { return log(mu); }
  static double mean(double eta) { return exp_at_least(eta, std::numeric_limits<double>::epsilon()); }
  static double derivative(double eta) { return mean(eta); }
  [[nodiscard]] double variance(double mu) const { return mu * (1 + mu / theta); }
  [[nodiscard]] double weight(double prior, double mu, double slope) const {
    return prior * slope * slope / (mu * (1 + mu / theta));
  }
  [[nodiscard]] double deviance(double y, double mu, double prior) const {
    return 2 * prior * (y_log_y(y, mu) - (y + theta) * log_of_one_plus((y - mu) / (mu + theta)));
  }
  static double first_mean(double y, double) { return y == 0 ? 1.0 / 6 : y; }
  /// As in mgcv, defined also for a response that is not a whole number.
  [[nodiscard]] double minus_two_log_likelihood(double y, double mu, double weight, double) const {
    return 2 * weight *
           ((y + theta) * log_of_one_plus(mu / theta) - x_log_p(y, mu) + log_gamma(y + 1) -
            log_rising_factorial(theta, y));
  }

  /// Terms of the likelihood that depend only on the response and theta.
  struct ResponsePart {
    double log_rising;
    RisingFactorialSlope slope;
  };
  [[nodiscard]] ResponsePart response_part(double y) const {
    return {log_rising_factorial(theta, y), rising_factorial_slope(theta, y)};
  }
  void likelihood_terms(double y, double mu, double* terms) const {
    likelihood_terms(y, mu, response_part(y), terms);
  }
  void likelihood_terms(double y, double mu, const ResponsePart& part, double* terms) const {
    const double log_ratio = log_of_one_plus(mu / theta);
    const double spread = (y - mu) / (mu + theta);
    const double first = theta * (log_ratio + spread - part.slope.first);
    const double second = -mu / (mu + theta) - theta * spread / (mu + theta) - theta * part.slope.second;
    terms[0] = (y + theta) * log_ratio - x_log_p(y, mu) - part.log_rising;
    terms[1] = first;
    terms[2] = theta * second + first;
  }

  double theta;
};

}  // namespace TESSERA_NAMESPACE::gam
