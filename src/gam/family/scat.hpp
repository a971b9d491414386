// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/parts.hpp"
#include "gam/family/rising_factorial.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Scaled t: (y - mu)/sigma has a t distribution with nu degrees of freedom. Working parameters: log(nu -
/// min.df) and log(sigma).
struct Scat : UsualLink<Link::identity> {
  static constexpr char name[] = "scat";
  static constexpr bool in_packets = true;
  static constexpr Link links[] = {Link::identity, Link::log, Link::inverse};
  static constexpr bool scale_is_known = true;
  static constexpr Start start = Start::response;
  static constexpr bool null_is_likeliest = true;
  static constexpr char residuals[] = " Large ones are fewer than of a normal response where nu is small.";

  static constexpr int parameter_count = 2;
  static constexpr int constant_count = 1;
  static constexpr int shown_count = 2;
  static constexpr char title[] = "Scaled t(";
  static constexpr char at_limit[] =
      "the tails of the response are no heavier than normal tails, or are heavier than min.df allows";
  static const char* parameter_name(int i) { return i == 0 ? "nu" : i == 1 ? "sigma" : "min.df"; }
  static double first_working(int i) { return i == 0 ? 1.5 : 0; }
  static double first_constant(int) { return 3; }
  [[nodiscard]] double working(int i, double value) const {
    if (i == 0) return log(value - least);
    if (i == 1) return log(value);
    return value >= 0 ? value : std::numeric_limits<double>::quiet_NaN();
  }
  [[nodiscard]] double parameter_at(int i, double working) const {
    return i == 0 ? exp(working) + least : exp(working);
  }
  /// As in mgcv, a fixed nu below min.df lowers min.df.
  static void settle_constants(double* values) {
    if (values[0] <= values[2]) values[2] = 0.9 * values[0];
  }

  constexpr explicit Scat(const double* values) : nu(values[0]), sigma(values[1]), least(values[2]) {}
  [[nodiscard]] double parameter(int i) const { return i == 0 ? nu : i == 1 ? sigma : least; }
  [[nodiscard]] double shown(int i) const {
    return i == 0 && nu > 999 ? std::numeric_limits<double>::infinity() : parameter(i);
  }

  static const char* response_fault(double) { return nullptr; }
  template <FormulaNumber T>
  [[nodiscard]] T variance(const T&) const {
    return sigma * sigma * (nu + 3) / (nu + 1);
  }
  template <FormulaNumber T>
  [[nodiscard]] T weight(const Same<T>& prior, const T& mu, const Same<T>& slope) const {
    return prior * slope * slope / variance(mu);
  }
  template <FormulaNumber T>
  [[nodiscard]] T mean_step(const Same<T>& y, const T& mu) const {
    const T t = (y - mu) / sigma;
    return (y - mu) * (nu + 3) / (nu + t * t);
  }
  template <FormulaNumber T>
  [[nodiscard]] T deviance(const Same<T>& y, const T& mu, const Same<T>& prior) const {
    const T t = (y - mu) / sigma;
    return prior * (nu + 1) * log1p(t * t / nu);
  }
  template <FormulaNumber T>
  static T first_mean(const T& y, const Same<T>&) {
    return y;
  }
  [[nodiscard]] double minus_two_log_likelihood(double y, double mu, double weight, double) const {
    constexpr double pi = 3.141592653589793;
    return deviance(y, mu, weight) +
           weight * (log(2 * pi * sigma * sigma) - 2 * log_rising_factorial(nu / 2, 0.5));
  }

  template <FormulaNumber T>
  void likelihood_terms(const Same<T>& y, const T& mu, T* terms) const {
    const T t = (y - mu) / sigma;
    const T square = t * t / nu;
    const T share = square / (1.0 + square);
    const T log_tail = log1p(square);
    const RisingFactorialSlope slope = rising_factorial_slope(nu / 2, 0.5);
    // Derivatives with respect to nu; d share/d nu = -share (1 - share)/nu.
    const T by_nu = 0.5 * (log_tail - (nu + 1) / nu * share - slope.first + 1 / nu);
    const T by_nu_nu = 0.5 * (-share / nu + share / (nu * nu) + (nu + 1) / (nu * nu) * share * (1 - share) -
                              0.5 * slope.second - 1 / (nu * nu));
    const double nu_1 = nu - least;
    terms[0] = 0.5 * (nu + 1) * log_tail + log(sigma) - log_rising_factorial(nu / 2, 0.5);
    terms[1] = by_nu * nu_1;
    terms[2] = 1 - (nu + 1) * share;
    terms[3] = by_nu_nu * nu_1 * nu_1 + by_nu * nu_1;
    terms[4] = (-share + (nu + 1) / nu * share * (1 - share)) * nu_1;
    terms[5] = 2 * (nu + 1) * share * (1 - share);
  }

  double nu;
  double sigma;
  double least;
};

}  // namespace TESSERA_NAMESPACE::gam
