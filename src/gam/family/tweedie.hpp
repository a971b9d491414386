// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/gamma.hpp"
#include "gam/family/parts.hpp"
#include "gam/family/tweedie_series.hpp"

/// Tweedie responses, e.g. daily rain: V(mu) = mu^p, 1 < p < 2; a Poisson sum of gamma variates.
namespace TESSERA_NAMESPACE::gam {

/// CRTP base of Tweedie and Tw; `Self` has a member `p`.
template <class Self>
struct TweedieParts : LogLinkOfAnyUnit {
  static constexpr bool in_packets = true;
  static constexpr Link links[] = {Link::log, Link::identity, Link::sqrt, Link::inverse};
  static constexpr bool scale_is_known = false;
  static constexpr Start start = Start::adjusted;
  static constexpr Limits limits{.lower = 0};
  static constexpr char residuals[] = " They are far from normal where many responses are 0.";
  static constexpr int shown_count = 1;

  template <FormulaNumber T>
  [[nodiscard]] T variance(const T& mu) const {
    return pow(mu, p());
  }
  /// mu^2/mu^p as one power, because mu^2 could overflow.
  template <FormulaNumber T>
  [[nodiscard]] T weight(const Same<T>& prior, const T& mu, const Same<T>&) const {
    return prior * exp((2 - p()) * log(mu));
  }
  template <FormulaNumber T>
  [[nodiscard]] T deviance(const Same<T>& y, const T& mu, const Same<T>& prior) const {
    return 2 * prior * half_tweedie_deviance(y, mu, p());
  }
  template <FormulaNumber T>
  static T first_mean(const T& y, const Same<T>&) {
    return choose(y == 0.0, T(0.1), y);
  }
  static double aic_scale(double, double, double scale) { return scale; }

  // Arguments c and s of the series of the density (tweedie_series.hpp).
  [[nodiscard]] double series_c() const { return (2 - p()) / (p() - 1); }
  [[nodiscard]] double series_s(double y, double phi) const {
    return (2 - p()) * log(y) - log(phi * (2 - p()));
  }
  /// The saturated log likelihood of y; `series(c, s)` evaluates the series, possibly from a cache.
  template <class Series>
  [[nodiscard]] double saturated(double y, double phi, const Series& series) const {
    return y > 0 ? series(series_c(), series_s(y, phi)).value - log(y) : 0;
  }

 protected:
  [[nodiscard]] double minus_two_log_density(double y, double mu, double weight, double phi) const {
    const auto series = [](double c, double s) { return tweedie_series(c, s); };
    return deviance(y, mu, weight) / phi - 2 * weight * saturated(y, phi, series);
  }

 private:
  [[nodiscard]] double p() const { return static_cast<const Self*>(this)->power; }
};

/// mgcv's Tweedie: p is fixed, and REML estimates phi. p = 2 is the gamma distribution.
struct Tweedie : TweedieParts<Tweedie> {
  static constexpr char name[] = "Tweedie";
  static constexpr int constant_count = 1;
  static constexpr char title[] = "Tweedie(";
  static const char* parameter_name(int) { return "p"; }
  static double first_constant(int) { return 1; }  // invalid: p must be given
  static double working(int, double value) {
    return value > 1 && value <= 2 ? value : std::numeric_limits<double>::quiet_NaN();
  }
  static double parameter_at(int, double working) { return working; }

  constexpr explicit Tweedie(const double* values) : power(values[0]) {}
  [[nodiscard]] double parameter(int) const { return power; }

  [[nodiscard]] const char* response_fault(double y) const {
    if (power == 2) return Gamma::response_fault(y);
    return y < 0 ? "must not be negative" : nullptr;
  }
  [[nodiscard]] double minus_two_log_likelihood(double y, double mu, double weight, double scale) const {
    if (!has_series()) return Gamma::minus_two_log_likelihood(y, mu, weight, scale);
    return minus_two_log_density(y, mu, weight, scale);
  }
  [[nodiscard]] bool has_series() const { return power != 2; }

  double power;
};

/// mgcv's tw: maximum likelihood estimates of phi and p, a < p < b. Working p: log((p - a)/(b - p)).
struct Tw : TweedieParts<Tw> {
  static constexpr char name[] = "tw";
  static constexpr int parameter_count = 2;
  static constexpr int theta_count = 1;
  static constexpr int constant_count = 2;
  static constexpr char title[] = "Tweedie(p=";
  static constexpr char at_limit[] = "the likelihood increases up to the limit of the interval";
  static const char* parameter_name(int i) { return i == 0 ? "p" : i == 1 ? "phi" : i == 2 ? "a" : "b"; }
  static double first_working(int) { return 0; }
  static double first_constant(int i) { return i == 0 ? 1.01 : 1.99; }
  [[nodiscard]] double working(int i, double value) const {
    if (i == 0) return log((value - low) / (high - value));
    if (i == 1) return log(value);
    return 1 < low && low < high && high < 2 ? value : std::numeric_limits<double>::quiet_NaN();
  }
  [[nodiscard]] double parameter_at(int i, double working) const {
    if (i == 1) return exp(working);
    const double e = exp(-fabs(working));
    return working > 0 ? (high + low * e) / (1 + e) : (high * e + low) / (1 + e);
  }

  constexpr explicit Tw(const double* values)
      : power(values[0]), phi(values[1]), low(values[2]), high(values[3]) {}
  [[nodiscard]] double parameter(int i) const { return i == 0 ? power : i == 1 ? phi : i == 2 ? low : high; }
  [[nodiscard]] double scale() const { return phi; }

  static const char* response_fault(double y) { return y < 0 ? "must not be negative" : nullptr; }
  [[nodiscard]] double minus_two_log_likelihood(double y, double mu, double weight, double scale) const {
    return minus_two_log_density(y, mu, weight, scale);
  }
  static bool has_series() { return true; }
  /// Terms of the log likelihood that depend only on y, p and phi.
  template <class T>
  using ResponsePart = TweedieTerms<T>;
  [[nodiscard]] TweedieSeries response_part(double y) const {
    return y > 0 ? tweedie_series(series_c(), series_s(y, phi)) : TweedieSeries{};
  }
  void likelihood_terms(double y, double mu, double* terms) const {
    likelihood_terms(y, mu, response_part(y), terms);
  }
  template <FormulaNumber T>
  void likelihood_terms(const Same<T>& y, const T& mu, const ResponsePart<Same<T>>& f, T* terms) const {
    const TweedieDeviance<T> d = tweedie_deviance(y, mu, power);
    const double i = 1 / (power - 1);
    const double k = 1 / (2 - power);
    const double c_p = -i * i;
    const double c_pp = 2 * i * i * i;
    const auto is_positive = y > 0.0;
    const auto of_positive = [&](const T& part) { return choose(is_positive, part, T(0.0)); };
    const T s_p = k - log(choose(is_positive, T(y), T(1.0)));
    const T half = d.value / phi;
    const T value = half - of_positive(f.value);
    const T by_p = d.by_p / phi - of_positive(f.by_c * c_p + f.by_s * s_p);
    const T by_rho = of_positive(f.by_s) - half;
    const T by_pp = d.by_pp / phi - of_positive((f.by_cc * c_p + 2 * f.by_cs * s_p) * c_p +
                                                f.by_ss * s_p * s_p + f.by_c * c_pp + f.by_s * k * k);
    const T by_p_rho = of_positive(f.by_cs * c_p + f.by_ss * s_p) - d.by_p / phi;
    const T by_rho_rho = half - of_positive(f.by_ss);
    const double p_1 = (power - low) * (high - power) / (high - low);
    const double p_2 = p_1 * (high + low - 2 * power) / (high - low);
    terms[0] = value;
    terms[1] = by_p * p_1;
    terms[2] = by_rho;
    terms[3] = by_pp * p_1 * p_1 + by_p * p_2;
    terms[4] = by_p_rho * p_1;
    terms[5] = by_rho_rho;
  }

  double power;
  double phi;
  double low;
  double high;
};

}  // namespace TESSERA_NAMESPACE::gam
