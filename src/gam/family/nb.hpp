// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/parts.hpp"
#include "gam/family/rising_factorial.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Negative binomial counts: V(mu) = mu + mu^2/theta, log link by default. The working parameter is
/// log(theta), estimated in fit/pirls/family_parameters.hpp.
struct Nb : UsualLink<Link::log> {
  static constexpr char name[] = "nb";
  static constexpr bool in_packets = true;
  static constexpr Link links[] = {Link::log, Link::identity, Link::sqrt};
  static constexpr bool scale_is_known = true;
  static constexpr Start start = Start::adjusted;
  static constexpr Limits limits{.lower = 0};
  static constexpr char residuals[] = " They are close to normal only where means and theta are large.";

  static constexpr int parameter_count = 1;
  static constexpr int shown_count = 1;
  static constexpr char title[] = "Negative Binomial(";
  static constexpr char at_limit[] = "the response varies no more than a Poisson response";
  static const char* parameter_name(int) { return "theta"; }
  static double first_working(int) { return 0; }
  static double working(int, double value) { return log(value); }
  static double parameter_at(int, double working) { return exp(working); }

  constexpr explicit Nb(const double* parameters) : theta(parameters[0]) {}
  [[nodiscard]] double parameter(int) const { return theta; }

  static const char* response_fault(double y) { return y < 0 ? "must not be negative" : nullptr; }
  template <FormulaNumber T>
  [[nodiscard]] T variance(const T& mu) const {
    return mu * (1 + mu / theta);
  }
  template <FormulaNumber T>
  [[nodiscard]] T weight(const Same<T>& prior, const T& mu, const Same<T>& slope) const {
    return prior * slope * slope / (mu * (1 + mu / theta));
  }
  template <FormulaNumber T>
  [[nodiscard]] T deviance(const Same<T>& y, const T& mu, const Same<T>& prior) const {
    return 2 * prior * (y_log_y(y, mu) - (y + theta) * log1p((y - mu) / (mu + theta)));
  }
  template <FormulaNumber T>
  static T first_mean(const T& y, const Same<T>&) {
    return choose(y == 0.0, T(1.0 / 6), y);
  }
  /// As in mgcv, also defined for fractional responses.
  [[nodiscard]] double minus_two_log_likelihood(double y, double mu, double weight, double) const {
    return 2 * weight *
           ((y + theta) * log1p(mu / theta) - x_log_p(y, mu) + lgamma(y + 1) -
            log_rising_factorial(theta, y));
  }

  /// Terms of the log likelihood that depend only on y and theta.
  template <class T>
  struct ResponsePart {
    T log_rising;
    T first, second;  ///< derivatives of `log_rising` + y log(theta) with respect to theta
  };
  [[nodiscard]] ResponsePart<double> response_part(double y) const {
    const RisingFactorialSlope slope = rising_factorial_slope(theta, y);
    return {log_rising_factorial(theta, y), slope.first, slope.second};
  }
  void likelihood_terms(double y, double mu, double* terms) const {
    likelihood_terms(y, mu, response_part(y), terms);
  }
  template <FormulaNumber T>
  void likelihood_terms(const Same<T>& y, const T& mu, const ResponsePart<Same<T>>& part, T* terms) const {
    const T log_ratio = log1p(mu / theta);
    const T spread = (y - mu) / (mu + theta);
    const T first = theta * (log_ratio + spread - part.first);
    const T second = -mu / (mu + theta) - theta * spread / (mu + theta) - theta * part.second;
    terms[0] = (y + theta) * log_ratio - x_log_p(y, mu) - part.log_rising;
    terms[1] = first;
    terms[2] = theta * second + first;
  }

  double theta;
};

}  // namespace TESSERA_NAMESPACE::gam
