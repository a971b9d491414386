// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/polygamma.hpp"

/// The normalising constant of the Tweedie density for 1 < p < 2, and its derivatives.
///
/// A response y > 0 is a sum of j gamma variates with Poisson j. Its density is a series over j. With
///
///     c = (2 - p)/(p - 1),    s = log(y^(2 - p) / (phi (2 - p))),    J = exp(s)
///
/// the log of y times the density at the mean mu = y is F(c, s) = log(sum over j of exp(g(j))) with
///
///     g(j) = -(1 + c) (j log(j/J) - j + J) + log(c)/2 - log(2 pi) - S(j) - S(c j),
///
/// where S(x) is the remainder of Stirling's formula for log(gamma(x)). This form avoids the cancellation of
/// terms for a small phi or a large y.
///
/// The sum runs outwards from its largest term, near J. With many terms, only every h-th term is evaluated,
/// and the sum is multiplied by h. By Poisson's summation formula the error is exp(-2 (pi sd/h)^2), where sd
/// = sqrt(J/(1 + c)) is the width of the terms. The error is below rounding for the h used here. The number
/// of terms is therefore bounded for any y, p and phi. If c J/(1 + c) exceeds `laplace_from`, Laplace's
/// approximation of second order is as accurate.
///
/// The derivatives with respect to s are (1 + c) E(j - J) and (1 + c) ((1 + c) Var(j) - J), with cancellation
/// for large J. The sum then equals an integral, for which E(f g') = -E(f'). The derivatives are therefore
/// E(q) and (1 + c) Cov(j, q) with the small q = -J d/dj(S(j) + S(c j)) + (1 + c) (j - J - J log(j/J)).
///
/// Source: Dunn and Smyth, Statistics and Computing 15 (2005); Wood, Pya and Saefken, JASA 111 (2016),
/// appendix J, as mgcv's ldTweedie.
namespace TESSERA_NAMESPACE::gam {

/// F and its derivatives with respect to c and s.
template <class T>
struct TweedieTerms {
  T value;
  T by_c, by_s;
  T by_cc, by_cs, by_ss;
};
using TweedieSeries = TweedieTerms<double>;

inline constexpr double laplace_from = 1e5;

template <FormulaNumber T>
TweedieTerms<T> tweedie_by_laplace(const T& c, const T& s) {
  constexpr double log_two_pi = 1.8378770664093453;
  const T x = exp(-s);
  const T d = 1 / (1 + c);
  const T i = 1 / c;
  // Coefficients of a x + a d/2 x^2, and their derivatives with respect to c.
  const T a = d / 24 + (1 + i) / 12;
  const T a_c = -d * d / 24 - i * i / 12;
  const T a_cc = d * d * d / 12 + i * i * i / 6;
  const T b = 0.5 * a * d;
  const T b_c = 0.5 * (a_c - a * d) * d;
  const T b_cc = 0.5 * (a_cc - 2 * (a_c - a * d) * d) * d;
  return {0.5 * (s + log(c * d) - log_two_pi) - (a + b * x) * x,
          0.5 * (i - d) - (a_c + b_c * x) * x,
          0.5 + (a + 2 * b * x) * x,
          0.5 * (d * d - i * i) - (a_cc + b_cc * x) * x,
          (a_c + 2 * b_c * x) * x,
          -(a + 4 * b * x) * x};
}

/// log(1 + x) - x for |x| < 1/2, by the series of atanh(x/(2 + x)).
template <FormulaNumber T>
T log1p_less(const T& x) {
  constexpr int terms = 16;
  const T r = x / (2 + x);
  const T square = r * r;
  T sum(0.0);
  for (int k = terms; k >= 0; --k) sum = sum * square + 1.0 / (2 * k + 3);
  return r * (2 * square * sum - x);
}

/// Sums over the series' terms. Each row of a packet has its own step and end.
template <FormulaNumber T>
class TweedieSum {
 public:
  TweedieSum(const T& the_c, const T& the_s) : c(the_c), s(the_s), peak(exp(the_s)), log_c(log(the_c)) {
    constexpr double steps_per_width = 1.7;
    constexpr double from_few = 40;    // below this (1 + c) J, terms at j near 0 are not negligible
    constexpr double smooth_from = 2;  // from this variance of j, sum and integral agree to rounding error
    constexpr int most_terms = 1000;
    few = choose((1 + c) * peak < from_few, T(1.0), T(0.0));
    const T wide = sqrt(peak / (1 + c)) / steps_per_width;
    const auto every = (few > 0.0) | (wide < 1.0);
    smooth = choose((few == 0.0) & (peak > smooth_from * (1 + c)), T(1.0), T(0.0));
    step = choose(every, T(1.0), wide);
    begin = choose(every, choose(peak > 1.0, whole(peak), T(1.0)), peak);
    if (any(few > 0.0)) log_factorial = polygamma(choose(few > 0.0, begin, T(1.0))).log_gamma;
    const auto is_number = peak == peak;
    add(begin, begin, is_number);
    const T log_factorial_at_begin = log_factorial;
    auto goes_on = is_number;
    for (int i = 1; i < most_terms && any(goes_on); ++i)
      goes_on = goes_on & is_ahead(add(begin + i * step, begin + (i - 1) * step, goes_on));
    log_factorial = log_factorial_at_begin;
    goes_on = is_number & (begin - step > 0.0);
    for (int i = 1; i < most_terms && any(goes_on); ++i) {
      goes_on = goes_on & is_ahead(add(begin - i * step, begin - (i - 1) * step, goes_on));
      goes_on = goes_on & (begin - (i + 1) * step > 0.0);
    }
  }
  [[nodiscard]] TweedieTerms<T> terms() const {
    const T e_q = q1 / sum;
    const T e_c = c1 / sum;
    const T d1 = e_q / (1 + c);
    return {largest + log(sum * step),
            e_c,
            e_q,
            cc / sum + (c2 / sum - e_c * e_c),
            d1 + (1 + c) * (cd / sum - e_c * d1),
            (1 + c) * (qd / sum - e_q * d1 - choose(smooth > 0.0, T(0.0), peak))};
  }

 private:
  /// Rounds to the nearest integer; x < 2^51.
  static T whole(const T& x) {
    constexpr double to_integer = 6755399441055744.0;
    return (x + to_integer) - to_integer;
  }
  /// Whether the summation continues after a term.
  [[nodiscard]] auto is_ahead(const T& weight) const {
    constexpr double negligible = 1e-17;  // relative to the sum
    return weight >= negligible * sum;
  }
  /// Adds term j in the lanes of `goes_on`; `from` is the preceding j. Returns exp(g(j) - `largest`).
  template <class Mask>
  T add(const T& j, const T& from, const Mask& goes_on) {
    constexpr double log_two_pi = 1.8378770664093453;
    const T away = j - peak;
    T q = (1 + c) * away;
    T g(0.0);
    T slope(0.0);
    T curvature(0.0);
    if (any(goes_on & (few > 0.0))) {
      // Without cancellation: the definition of g, with log_factorial updated by recurrence.
      const T inner = choose(few > 0.0, j, T(1.0));
      const T before = choose(few > 0.0, from, T(1.0));
      const Polygamma<T> at = polygamma(c * inner);
      const T log_j = log(inner);
      log_factorial += choose(inner > before, log(before), choose(inner < before, -log_j, T(0.0)));
      g = j * s + c * j * (s + log_c) - log_factorial - log_j - at.log_gamma - (1 + c) * peak;
      slope = j * (s + log_c + 1 - at.digamma) - peak;
      curvature = j * (1 / c - j * at.trigamma);
    }
    if (any(goes_on & (few == 0.0))) {
      const T ratio = away / peak;
      const T log_ratio = log1p(ratio);
      const T bend = choose(fabs(ratio) < 0.5, -peak * log1p_less(ratio), away - peak * log_ratio);
      const T distance = away * log_ratio - bend;
      const StirlingRest<T> own = stirling_rest(j);
      const StirlingRest<T> rest = stirling_rest<T>(c * j);
      q = choose(smooth > 0.0, peak * (own.first + c * rest.first) + (1 + c) * bend, q);
      g = choose(few > 0.0, g, 0.5 * log_c - log_two_pi - (1 + c) * distance - own.value - rest.value);
      slope = choose(few > 0.0, slope, 0.5 / c + j * rest.first - distance);
      curvature = choose(few > 0.0, curvature, -0.5 / (c * c) - j * j * rest.second);
    }
    largest = choose(j == from, g, largest);
    const T weight = exp(g - largest);
    const auto plus = [&](const T& number) { return choose(goes_on, number, T(0.0)); };
    sum += plus(weight);
    q1 += plus(weight * q);
    qd += plus(weight * q * away);
    c1 += plus(weight * slope);
    c2 += plus(weight * slope * slope);
    cd += plus(weight * slope * away);
    cc += plus(weight * curvature);
    return weight;
  }

  T c, s, peak, log_c;
  T few, smooth;  ///< flags, 1 or 0
  T step, begin;
  T log_factorial{0.0};  ///< log((j - 1)!) if `few`
  T largest{0.0};
  T sum{0.0};
  T q1{0.0}, qd{0.0};           ///< weighted sums of q and q (j - J); q is (1 + c) (j - J) unless `smooth`
  T c1{0.0}, c2{0.0}, cd{0.0};  ///< weighted sums of dg/dc, (dg/dc)^2 and dg/dc (j - J)
  T cc{0.0};                    ///< weighted sum of d2g/dc2
};

template <FormulaNumber T>
TweedieTerms<T> tweedie_series(const Same<T>& c, const T& s) {
  const auto by_laplace = exp(s) >= laplace_from * (1 + 1 / c);
  const TweedieTerms<T> limit = tweedie_by_laplace<T>(c, s);
  const T inner = choose(by_laplace, T(0.0), s);
  const TweedieTerms<T> at = TweedieSum<T>(c, inner).terms();
  return {choose(by_laplace, limit.value, at.value), choose(by_laplace, limit.by_c, at.by_c),
          choose(by_laplace, limit.by_s, at.by_s),   choose(by_laplace, limit.by_cc, at.by_cc),
          choose(by_laplace, limit.by_cs, at.by_cs), choose(by_laplace, limit.by_ss, at.by_ss)};
}

/// Half the unit deviance and its derivatives with respect to p.
template <class T>
struct TweedieDeviance {
  T value;
  T by_p;
  T by_pp;
};

/// Integrals over x from 0 to `end` of exp(a x), x exp(a x) and x^2 exp(a x). The argument e is exp(a end).
template <class T>
struct ExponentialMoments {
  T zeroth;
  T first;
  T second;
};
template <FormulaNumber T>
ExponentialMoments<T> exponential_moments(const Same<T>& a, const T& end, const T& e) {
  const T z = a * end;
  // The second moment is a power series in z; the other moments follow by integration by parts.
  constexpr double terms[] = {1.0 / 3,
                              1.0 / 4,
                              1.0 / 10,
                              1.0 / 36,
                              1.0 / 168,
                              1.0 / 960,
                              1.0 / 6480,
                              1.0 / 50400,
                              1.0 / 443520,
                              1.0 / 4354560,
                              1.0 / 47174400,
                              1.0 / 558835200,
                              1.0 / 7185024000,
                              1.0 / 99632332800,
                              1.0 / 1482030950400,
                              1.0 / 23538138624000,
                              1.0 / 397533007872000};
  const auto is_near = fabs(z) < 1.0;
  const T near = choose(is_near, z, T(0.0));
  T second(1.0 / 7113748561920000);
  for (int k = 16; k >= 0; --k) second = terms[k] + second * near;
  const T first = 0.5 * (e - near * second);
  const T zeroth = (e - 1.0) / a;
  const T first_of_all = (end * e - zeroth) / a;
  return {choose(is_near, end * (e - near * first), zeroth), choose(is_near, end * end * first, first_of_all),
          choose(is_near, end * end * end * second, (end * end * e - 2.0 * first_of_all) / a)};
}

/// log(y/mu), clamped so that its exponential is finite.
template <FormulaNumber T>
T log_ratio_of(const Same<T>& y, const T& mu) {
  return within(-700, log(y / mu), 700);
}

/// The integral of (y - t) t^-p from `mu` to y.
template <FormulaNumber T>
TweedieDeviance<T> tweedie_deviance(const Same<T>& y, const T& mu, const Same<T>& p) {
  const T b = 2.0 - p;
  const T log_mu = log(mu);
  const T log_ratio = log_ratio_of(y, mu);
  const T ratio = exp(log_ratio);
  const T power = exp((1.0 - p) * log_ratio);
  const ExponentialMoments<T> of_ratio = exponential_moments<T>(1.0 - p, log_ratio, power);
  const ExponentialMoments<T> of_one = exponential_moments<T>(b, log_ratio, ratio * power);
  const T away = ratio * of_ratio.zeroth - of_one.zeroth;
  // In units of the mean.
  const auto is_positive = y > 0.0;
  const T e_of_zero = 1.0 / b;
  const T square = e_of_zero * e_of_zero;
  const T e = choose(is_positive, choose(away < 0.0, T(0.0), away), e_of_zero);
  const T e_p = choose(is_positive, of_one.first - ratio * of_ratio.first, square);
  const T e_pp = choose(is_positive, ratio * of_ratio.second - of_one.second, 2.0 * square * e_of_zero);
  const T unit = exp(b * log_mu);
  return {unit * e, unit * (e_p - log_mu * e), unit * (e_pp - log_mu * (2.0 * e_p - log_mu * e))};
}

/// `tweedie_deviance(...).value` only.
template <FormulaNumber T>
T half_tweedie_deviance(const Same<T>& y, const T& mu, const Same<T>& p) {
  const T b = 2.0 - p;
  const T log_mu = log(mu);
  const T log_ratio = log_ratio_of(y, mu);
  const T of_one = choose(b > 0.0, expm1(b * log_ratio) / b, log_ratio);
  const T of_ratio = exp(log_ratio) * (expm1((1.0 - p) * log_ratio) / (1.0 - p));
  const T away = of_ratio - of_one;
  const T unit = exp(b * log_mu);
  return choose(y > 0.0, choose(away > 0.0, unit * away, 0.0 * away), unit / b);
}

}  // namespace TESSERA_NAMESPACE::gam
