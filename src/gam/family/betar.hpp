// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/parts.hpp"
#include "gam/family/polygamma.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Continuous proportions, not counts of trials: beta distributed, shapes mu phi and (1 - mu) phi, variance
/// mu (1 - mu)/(1 + phi). Working parameter: log(phi). Responses are moved to at least eps from 0 and 1.
struct Betar : UsualLink<Link::logit> {
  static constexpr char name[] = "betar";
  static constexpr Link links[] = {Link::logit, Link::probit, Link::cloglog, Link::cauchit};
  static constexpr bool scale_is_known = true;
  static constexpr Start start = Start::adjusted;
  static constexpr char residuals[] = " They are close to normal only where phi is large.";

  static constexpr int parameter_count = 1;
  static constexpr int constant_count = 1;
  static constexpr int shown_count = 1;
  static constexpr char title[] = "Beta regression(";
  static constexpr char at_limit[] = "the response does not vary about its mean";
  static const char* parameter_name(int i) { return i == 0 ? "phi" : "eps"; }
  static double first_working(int) { return 0; }
  static double first_constant(int) { return 100 * std::numeric_limits<double>::epsilon(); }
  static double working(int i, double value) {
    if (i == 0) return log(value);
    return value > 0 && value < 0.5 ? value : std::numeric_limits<double>::quiet_NaN();
  }
  static double parameter_at(int, double working) { return exp(working); }

  constexpr explicit Betar(const double* values) : phi(values[0]), eps(values[1]) {}
  [[nodiscard]] double parameter(int i) const { return i == 0 ? phi : eps; }

  static const char* response_fault(double y) { return y < 0 || y > 1 ? "must be between 0 and 1" : nullptr; }
  [[nodiscard]] double variance(double mu) const {
    return 1 / (phi * phi * (polygamma(mu * phi).trigamma + polygamma((1 - mu) * phi).trigamma));
  }
  [[nodiscard]] double weight(double prior, double mu, double slope) const {
    return prior * slope * slope / variance(mu);
  }
  [[nodiscard]] double mean_step(double y, double mu) const {
    const double inside = within(eps, y, 1 - eps);
    const Polygamma of_one = polygamma(mu * phi);
    const Polygamma of_other = polygamma((1 - mu) * phi);
    return (log(inside) - log1p(-inside) - of_one.digamma + of_other.digamma) /
           (phi * (of_one.trigamma + of_other.trigamma));
  }
  /// -2 log likelihood, without the part of the saturated model. That part does not depend on the mean, and
  /// needs an iteration.
  [[nodiscard]] double deviance(double y, double mu, double prior) const {
    const double inside = within(eps, y, 1 - eps);
    return 2 * prior * (minus_log(inside, mu) + log(inside) + log1p(-inside));
  }
  static double first_mean(double y, double) { return (y + 0.5) / 2; }
  [[nodiscard]] double minus_two_log_likelihood(double y, double mu, double weight, double) const {
    return deviance(y, mu, weight);
  }
  /// The mean that maximises the likelihood of one response.
  [[nodiscard]] double saturated_mean(double y) const {
    constexpr int max_steps = 200;
    double low = -40;
    double high = 40;
    double eta = within(low, link(within(eps, y, 1 - eps)), high);
    for (int i = 0; i < max_steps; ++i) {
      const double mu = mean(eta);
      const double step = mean_step(y, mu);
      (step > 0 ? low : high) = eta;
      double next = eta + step / derivative(eta);
      if (!(next > low && next < high)) next = low + (high - low) / 2;
      const bool last = fabs(next - eta) <= 1e-13 * (1 + fabs(eta));
      eta = next;
      if (last) break;
    }
    return mean(eta);
  }

  void likelihood_terms(double y, double mu, double* terms) const {
    const double inside = within(eps, y, 1 - eps);
    const double one = mu * phi;
    const double other = (1 - mu) * phi;
    const StirlingRest of_one = stirling_rest(one);
    const StirlingRest of_other = stirling_rest(other);
    const StirlingRest of_phi = stirling_rest(phi);
    const double away = divergence(inside, mu);
    const double first = away - 0.5 - one * of_one.first - other * of_other.first + phi * of_phi.first;
    terms[0] = away - 0.5 * log(mu * (1 - mu) * phi) + of_one.value + of_other.value - of_phi.value;
    terms[1] = first;
    terms[2] =
        first + 0.5 + one * one * of_one.second + other * other * of_other.second - phi * phi * of_phi.second;
  }

  double phi;
  double eps;

 private:
  /// phi times the Kullback-Leibler divergence of y from mu.
  [[nodiscard]] double divergence(double y, double mu) const {
    return phi * (mu * log(mu / y) + (1 - mu) * (log1p(-mu) - log1p(-y)));
  }
  /// Minus the log density at y, except for the density's factor 1/(y (1 - y)).
  [[nodiscard]] double minus_log(double y, double mu) const {
    constexpr double half_log_two_pi = 0.91893853320467274;
    return divergence(y, mu) - 0.5 * log(mu * (1 - mu) * phi) + half_log_two_pi +
           stirling_rest(mu * phi).value + stirling_rest((1 - mu) * phi).value - stirling_rest(phi).value;
  }
};

}  // namespace TESSERA_NAMESPACE::gam
