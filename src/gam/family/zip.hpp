// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/parts.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Zero-inflated Poisson counts. With probability 1 - exp(-exp(eta)), a count is present: zero-truncated
/// Poisson with rate exp(gamma). Otherwise the response is 0. gamma is the linear predictor, eta = intercept
/// + slope gamma, and slope > b. The working parameters (mgcv's theta) are the intercept and log(slope - b).
/// As in mgcv, `mean` returns the linear predictor.
struct ZiP : UsualParts {
  static constexpr char name[] = "ziP";
  static constexpr bool in_packets = true;
  static constexpr Link links[] = {Link::identity};
  static constexpr bool scale_is_known = true;
  static constexpr Start start = Start::adjusted;
  static constexpr bool null_is_likeliest = true;
  static constexpr char residuals[] = " Those of a count lie on one curve.";
  static constexpr double least_maximum = 2;

  static constexpr int parameter_count = 2;
  static constexpr int constant_count = 1;
  static constexpr int shown_count = 2;
  static constexpr bool theta_is_working = true;
  static constexpr char title[] = "Zero inflated Poisson(";
  static constexpr char at_limit[] =
      "the response is almost never 0, or its probability of 0 does not depend on the predictor";
  static const char* parameter_name(int i) { return i == 0 ? "intercept" : i == 1 ? "slope" : "b"; }
  static double first_working(int) { return 0; }
  static double first_constant(int) { return 0; }
  [[nodiscard]] double working(int i, double value) const {
    if (i == 1) return log(value - b);
    return i == 0 || value >= 0 ? value : std::numeric_limits<double>::quiet_NaN();
  }
  [[nodiscard]] double parameter_at(int i, double working) const {
    return i == 0 ? working : b + exp(working);
  }

  constexpr explicit ZiP(const double* values) : intercept(values[0]), slope(values[1]), b(values[2]) {}
  [[nodiscard]] double parameter(int i) const { return i == 0 ? intercept : i == 1 ? slope : b; }

  static const char* response_fault(double y) {
    return y >= 0 && is_integer(y) ? nullptr : "must be a whole number of 0 or more";
  }
  /// Initial linear predictor of a count or of the mean count.
  template <FormulaNumber T>
  static T link(const T& mean) {
    return log(mean);
  }
  template <FormulaNumber T>
  static T first_mean(const T& y, const Same<T>&) {
    return choose(y == 0.0, T(0.2), y);
  }
  template <FormulaNumber T>
  static T mean(const T& gamma) {
    return gamma;
  }
  template <FormulaNumber T>
  static T derivative(const T&) {
    return T(1.0);
  }

  template <FormulaNumber T>
  [[nodiscard]] T presence(const T& gamma) const {
    return intercept + slope * gamma;
  }

  /// A Fisher scoring step, as in mgcv.
  template <FormulaNumber T>
  [[nodiscard]] RowStep<T> step(const Same<T>& y, const T& gamma, const Same<T>& prior) const {
    const Positive<T> count(gamma);
    const Positive<T> present(presence(gamma));
    const T p = -expm1(-present.rate);
    const T of_presence =
        choose(present.rate > 0.0, exp(-present.rate) * present.rate - p * present.second, T(0.0));
    const T information = p * count.information() + slope * slope * of_presence;
    const T score = choose(y > 0.0, y - count.mean() + slope * present.first, -slope * present.rate);
    return {prior * information, choose(information > 0.0, score / information, T(0.0)),
            -2 * prior * log_likelihood(y, gamma, count, present)};
  }
  /// -2 log likelihood. Omits the saturated log likelihood, which needs an iteration (`saturated_mean`).
  template <FormulaNumber T>
  [[nodiscard]] T deviance(const Same<T>& y, const T& gamma, const Same<T>& prior) const {
    return -2 * prior * log_likelihood(y, gamma, Positive<T>(gamma), Positive<T>(presence(gamma)));
  }
  [[nodiscard]] double minus_two_log_likelihood(double y, double gamma, double weight, double) const {
    return deviance(y, gamma, weight);
  }
  /// Maximum likelihood linear predictor of one response; the log likelihood is concave.
  [[nodiscard]] double saturated_mean(double y) const {
    if (y == 0) return -std::numeric_limits<double>::infinity();
    constexpr int max_steps = 200;
    double low = -1e3;
    double high = log(y + slope);
    double gamma = log(y);
    for (int i = 0; i < max_steps; ++i) {
      const Positive<double> count(gamma);
      const Positive<double> present(presence(gamma));
      const double score = y - count.mean() + slope * present.first;
      (score > 0 ? low : high) = gamma;
      double next = gamma + score / (count.information() - slope * slope * present.second);
      if (!(next > low && next < high)) next = low + (high - low) / 2;
      const bool last = fabs(next - gamma) <= 1e-13 * (1 + fabs(gamma));
      gamma = next;
      if (last) break;
    }
    return gamma;
  }

  /// The mean count and its derivative with respect to the linear predictor.
  struct Mean {
    double value, slope;
  };
  [[nodiscard]] Mean respond(double gamma) const {
    const Positive<double> count(gamma);
    const double rate = exp(presence(gamma));
    const double p = -expm1(-rate);
    const double of_p = rate < most_rate ? slope * rate * exp(-rate) : 0;
    return {p * count.mean(), of_p * count.mean() + p * count.mean() * (count.rest + count.rate)};
  }
  [[nodiscard]] double residual_side(double y, double gamma) const { return y - respond(gamma).value; }

  template <FormulaNumber T>
  void likelihood_terms(const Same<T>& y, const T& gamma, T* terms) const {
    const Positive<T> count(gamma);
    const Positive<T> present(presence(gamma));
    const auto is_present = y > 0.0;
    const T first = choose(is_present, -present.first, present.rate);
    const T second = choose(is_present, -present.second, present.rate);
    const T by_slope = (slope - b) * gamma;  // d eta / d working slope
    terms[0] = -log_likelihood(y, gamma, count, present);
    terms[1] = first;
    terms[2] = first * by_slope;
    terms[3] = second;
    terms[4] = second * by_slope;
    terms[5] = second * by_slope * by_slope + first * by_slope;
  }

  double intercept;
  double slope;
  double b;

 private:
  /// For larger rates P(0) underflows to 0.
  static constexpr double most_rate = 700;

  /// Zero-truncated Poisson terms. Derivatives are with respect to the log rate.
  template <class T>
  struct Positive {
    explicit Positive(const T& log_rate) : rate(exp(log_rate)) {
      constexpr double least_rate = 1e-300;
      const auto is_tiny = rate <= least_rate;
      const T below = -expm1(-rate);
      const T log_of_tiny = choose(is_tiny, log_rate, log(below));
      log_probability = choose(rate > 1.0, log1p(-exp(-rate)), log_of_tiny);
      first = choose(rate > most_rate, T(0.0), choose(is_tiny, T(1.0), rate / expm1(rate)));
      constexpr double small = 0.05;  // below this rate 1 - rate - first cancels
      const T square = rate * rate;
      rest = choose(rate < small, -rate / 2 - square / 12 * (1 - square / 60 * (1 - square / 42)),
                    1 - rate - first);
      second = choose(first > 0.0, first * rest, T(0.0));
    }
    [[nodiscard]] T mean() const { return rate + first; }
    /// Minus the second derivative of the zero-truncated log likelihood.
    [[nodiscard]] T information() const { return rate + second; }

    T rate;
    T log_probability;  ///< log P(count > 0)
    T first, second;    ///< derivatives of `log_probability`
    T rest;             ///< 1 - rate - first
  };
  template <FormulaNumber T>
  static T log_likelihood(const Same<T>& y, const T& gamma, const Positive<T>& count,
                          const Positive<T>& present) {
    const T of_count =
        present.log_probability + y * gamma - count.rate - count.log_probability - lgamma(T(y + 1));
    return choose(y > 0.0, of_count, 0 * y - present.rate);
  }
};

}  // namespace TESSERA_NAMESPACE::gam
