// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/parts.hpp"
#include "gam/family/polygamma.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Beta regression of continuous proportions: shapes mu phi and (1 - mu) phi, variance mu (1 - mu)/(1 + phi).
/// Working parameter: log(phi). Responses are clamped to [eps, 1 - eps].
struct Betar : UsualLink<Link::logit> {
  static constexpr char name[] = "betar";
  static constexpr bool in_packets = true;
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
  template <FormulaNumber T>
  [[nodiscard]] T variance(const T& mu) const {
    return 1 / information(Shape<T>(mu * phi), Shape<T>((1 - mu) * phi));
  }
  template <FormulaNumber T>
  [[nodiscard]] T weight(const Same<T>& prior, const T& mu, const Same<T>& slope) const {
    return prior * slope * slope / variance(mu);
  }
  template <FormulaNumber T>
  [[nodiscard]] T mean_step(const Same<T>& y, const T& mu) const {
    return joint_step(y, mu, T(1.0)).residual;
  }
  /// -2 log likelihood. Omits the saturated log likelihood, which needs an iteration (`saturated_mean`).
  template <FormulaNumber T>
  [[nodiscard]] T deviance(const Same<T>& y, const T& mu, const Same<T>& prior) const {
    return joint_step(y, mu, prior).deviance;
  }
  template <FormulaNumber T>
  [[nodiscard]] RowStep<T> joint_step(const Same<T>& y, const T& mu, const Same<T>& prior) const {
    constexpr double half_log_two_pi = 0.91893853320467274;
    const T inside = within(eps, T(y), 1 - eps);
    const Shape<T> one(mu * phi);
    const Shape<T> other((1 - mu) * phi);
    const T log_inside = log(inside);
    const T log_outside = log1p(-inside);
    const T slope = log_inside - log_outside - one.digamma() + other.digamma();
    const T minus_log = divergence(inside, mu) - 0.5 * log(mu * (1 - mu) * phi) + half_log_two_pi +
                        one.rest.value + other.rest.value - stirling_rest(phi).value + log_inside +
                        log_outside;
    const T weight = information(one, other);
    return {prior * weight, phi * slope / weight, 2 * prior * minus_log};
  }
  template <FormulaNumber T>
  static T first_mean(const T& y, const Same<T>&) {
    return (y + 0.5) / 2;
  }
  [[nodiscard]] double minus_two_log_likelihood(double y, double mu, double weight, double) const {
    return deviance(y, mu, weight);
  }
  /// The mean that maximises the likelihood of y: Fisher scoring, safeguarded by bisection.
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

  template <FormulaNumber T>
  void likelihood_terms(const Same<T>& y, const T& mu, T* terms) const {
    const T inside = within(eps, T(y), 1 - eps);
    const T one = mu * phi;
    const T other = (1 - mu) * phi;
    const StirlingRest<T> of_one = stirling_rest(one);
    const StirlingRest<T> of_other = stirling_rest(other);
    const StirlingRest<double> of_phi = stirling_rest(phi);
    const T away = divergence(inside, mu);
    const T first = away - 0.5 - one * of_one.first - other * of_other.first + phi * of_phi.first;
    terms[0] = away - 0.5 * log(mu * (1 - mu) * phi) + of_one.value + of_other.value - of_phi.value;
    terms[1] = first;
    terms[2] =
        first + 0.5 + one * one * of_one.second + other * other * of_other.second - phi * phi * of_phi.second;
  }

  double phi;
  double eps;

 private:
  template <class T>
  struct Shape {
    explicit Shape(const T& x) : inverse(1 / x), log_x(log(x)), rest(stirling_rest(x)) {}
    [[nodiscard]] T digamma() const { return log_x - 0.5 * inverse - rest.first; }
    [[nodiscard]] T trigamma() const { return rest.second + inverse * (1 + 0.5 * inverse); }
    T inverse, log_x;
    StirlingRest<T> rest;
  };
  /// Expected information about mu.
  template <class T>
  [[nodiscard]] T information(const Shape<T>& one, const Shape<T>& other) const {
    return phi * phi * (one.trigamma() + other.trigamma());
  }
  /// phi times the Kullback-Leibler divergence KL(mu || y) of Bernoulli distributions.
  template <FormulaNumber T>
  [[nodiscard]] T divergence(const Same<T>& y, const T& mu) const {
    return phi * (mu * log(mu / y) + (1 - mu) * (log1p(-mu) - log1p(-y)));
  }
};

}  // namespace TESSERA_NAMESPACE::gam
