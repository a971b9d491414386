// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/polygamma.hpp"

/// The normalising constant of the Tweedie density for 1 < p < 2, and its derivatives.
///
/// A response y > 0 is a sum of j gamma variates, where j is Poisson. Its density is a series over j. With
///
///     c = (2 - p)/(p - 1),    s = log(y^(2 - p) / (phi (2 - p))),    J = exp(s)
///
/// the log of the density at the mean mu = y, times y, is F(c, s) = log(sum over j of exp(g(j))) with
///
///     g(j) = -(1 + c) (j log(j/J) - j + J) + log(c)/2 - log(2 pi) - S(j) - S(c j),
///
/// where S(x) is the remainder of Stirling's formula for log(gamma(x)). This form lacks the terms that nearly
/// cancel for a small phi or a large y. The sum runs outwards from its largest term, near J. If there are
/// many terms, only every h-th is taken, times h. By Poisson's summation formula the error is exp(-2 (pi
/// sd/h)^2), where sd = sqrt(J/(1 + c)) is the width of the terms; it is below rounding for the h used here,
/// so that the number of terms is bounded for any y, p and phi. Where c J/(1 + c) is above `laplace_from`,
/// Laplace's approximation of the sum, to second order, is as accurate.
///
/// The derivatives by s are (1 + c) E(j - J) and (1 + c) ((1 + c) Var(j) - J), which nearly cancel for a
/// large J. There the sum is the integral, for which E(f g') = -E(f'): so these are E(q) and (1 + c) Cov(j,
/// q) of q = -J d/dj(S(j) + S(c j)) + (1 + c) (j - J - J log(j/J)), which is small.
///
/// Source: Dunn and Smyth, Statistics and Computing 15 (2005); Wood, Pya and Saefken, JASA 111 (2016),
/// appendix J, as mgcv's ldTweedie.
namespace TESSERA_NAMESPACE::gam {

/// F and its derivatives with respect to c and s.
struct TweedieSeries {
  double value;
  double by_c, by_s;
  double by_cc, by_cs, by_ss;
};

inline constexpr double laplace_from = 1e5;

inline TweedieSeries tweedie_by_laplace(double c, double s) {
  constexpr double log_two_pi = 1.8378770664093453;
  const double x = exp(-s);
  const double d = 1 / (1 + c);
  const double i = 1 / c;
  // The terms a x + a d/2 x^2, and their derivatives with respect to c.
  const double a = d / 24 + (1 + i) / 12;
  const double a_c = -d * d / 24 - i * i / 12;
  const double a_cc = d * d * d / 12 + i * i * i / 6;
  const double b = 0.5 * a * d;
  const double b_c = 0.5 * (a_c - a * d) * d;
  const double b_cc = 0.5 * (a_cc - 2 * (a_c - a * d) * d) * d;
  return {0.5 * (s + log(c * d) - log_two_pi) - (a + b * x) * x,
          0.5 * (i - d) - (a_c + b_c * x) * x,
          0.5 + (a + 2 * b * x) * x,
          0.5 * (d * d - i * i) - (a_cc + b_cc * x) * x,
          (a_c + 2 * b_c * x) * x,
          -(a + 4 * b * x) * x};
}

/// log(1 + x) - x for |x| < 1/2, by the series of atanh(x/(2 + x)).
inline double log1p_less(double x) {
  constexpr int terms = 16;
  const double r = x / (2 + x);
  const double square = r * r;
  double sum = 0;
  for (int k = terms; k >= 0; --k) sum = sum * square + 1.0 / (2 * k + 3);
  return r * (2 * square * sum - x);
}

inline TweedieSeries tweedie_series(double c, double s) {
  constexpr double log_two_pi = 1.8378770664093453;
  constexpr double steps_per_width = 1.7;
  constexpr double from_few = 40;       // below this value of (1 + c) J, the terms at j near 0 are not
                                        // negligible
  constexpr double negligible = 1e-17;  // size of a term that ends the sum, relative to the largest
  constexpr double smooth_from = 2;     // variance of j from which the sum is the integral to rounding
  constexpr int most_terms = 1000;
  const double peak = exp(s);
  if (peak >= laplace_from * (1 + 1 / c)) return tweedie_by_laplace(c, s);
  const double wide = sqrt(peak / (1 + c)) / steps_per_width;
  const bool few = (1 + c) * peak < from_few;
  const bool every = few || wide < 1;
  const bool smooth = !few && peak > smooth_from * (1 + c);
  const double step = every ? 1 : wide;
  const double begin = !every ? peak : peak > 1 ? nearbyint(peak) : 1.0;
  const double log_c = log(c);

  double largest = 0;
  double sum = 0;
  double q1 = 0;  // weighted sums of q, and of q (j - J); q is (1 + c) (j - J) if the sum is no integral
  double qd = 0;
  double c1 = 0;  // weighted sums of dg/dc, of (dg/dc)^2, and of dg/dc (j - J)
  double c2 = 0;
  double cd = 0;
  double cc = 0;                                                // weighted sum of d2g/dc2
  double log_factorial = few ? polygamma(begin).log_gamma : 0;  // log factorial of j - 1
  const auto add = [&](double j, double from) {
    const double away = j - peak;
    double q = (1 + c) * away;
    double g = 0;
    double slope = 0;
    double curvature = 0;
    if (few) {
      // There is no cancellation here: use the terms as they are defined, and update log_factorial along j.
      const Polygamma at = polygamma(c * j);
      if (j > from) log_factorial += log(from);
      if (j < from) log_factorial -= log(j);
      g = j * s + c * j * (s + log_c) - log_factorial - log(j) - at.log_gamma - (1 + c) * peak;
      slope = j * (s + log_c + 1 - at.digamma) - peak;
      curvature = j * (1 / c - j * at.trigamma);
    } else {
      const double ratio = away / peak;
      const double log_ratio = log1p(ratio);
      const double bend = fabs(ratio) < 0.5 ? -peak * log1p_less(ratio) : away - peak * log_ratio;
      const double distance = away * log_ratio - bend;
      const StirlingRest own = stirling_rest(j);
      const StirlingRest rest = stirling_rest(c * j);
      if (smooth) q = peak * (own.first + c * rest.first) + (1 + c) * bend;
      g = 0.5 * log_c - log_two_pi - (1 + c) * distance - own.value - rest.value;
      slope = 0.5 / c + j * rest.first - distance;
      curvature = -0.5 / (c * c) - j * j * rest.second;
    }
    if (j == from) largest = g;
    const double weight = exp(g - largest);
    sum += weight;
    q1 += weight * q;
    qd += weight * q * away;
    c1 += weight * slope;
    c2 += weight * slope * slope;
    cd += weight * slope * away;
    cc += weight * curvature;
    return weight;
  };
  add(begin, begin);
  const double log_factorial_at_begin = log_factorial;
  for (int i = 1; i < most_terms; ++i) {
    if (add(begin + i * step, begin + (i - 1) * step) < negligible * sum) break;
  }
  log_factorial = log_factorial_at_begin;
  for (int i = 1; i < most_terms && begin - i * step > 0; ++i) {
    if (add(begin - i * step, begin - (i - 1) * step) < negligible * sum) break;
  }
  q1 /= sum;
  qd /= sum;
  c1 /= sum;
  c2 /= sum;
  cd /= sum;
  cc /= sum;
  const double d1 = q1 / (1 + c);
  return {largest + log(sum * step),
          c1,
          q1,
          cc + (c2 - c1 * c1),
          d1 + (1 + c) * (cd - c1 * d1),
          (1 + c) * (qd - q1 * d1 - (smooth ? 0 : peak))};
}

/// Half the deviance of a response, and its derivatives with respect to p.
struct TweedieDeviance {
  double value;
  double by_p;
  double by_pp;
};

/// The integrals from 0 to `end` of exp(a x), x exp(a x) and x^2 exp(a x); e is exp(a end).
struct ExponentialMoments {
  double zeroth;
  double first;
  double second;
};
inline ExponentialMoments exponential_moments(double a, double end, double e) {
  const double z = a * end;
  if (fabs(z) < 1) {
    // One integral is the sum of z^k / (k! (k + 3)); the others follow from it by integration by parts.
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
    double second = 1.0 / 7113748561920000;
    for (int k = 16; k >= 0; --k) second = terms[k] + second * z;
    const double first = 0.5 * (e - z * second);
    return {end * (e - z * first), end * end * first, end * end * end * second};
  }
  const double zeroth = (e - 1) / a;
  const double first = (end * e - zeroth) / a;
  return {zeroth, first, (end * end * e - 2 * first) / a};
}

/// log(y / mu), bounded so that its exponential is finite.
inline double log_ratio_of(double y, double mu) {
  return within(-700, log(y / mu), 700);
}

/// The integral of (y - t) t^-p from `mu` to y.
inline TweedieDeviance tweedie_deviance(double y, double mu, double p) {
  const double b = 2 - p;
  double e = 1 / b;  // in units where the mean is 1
  double e_p = e * e;
  double e_pp = 2 * e_p * e;
  const double log_mu = log(mu);
  if (y > 0) {
    const double log_ratio = log_ratio_of(y, mu);
    const double ratio = exp(log_ratio);
    const double power = exp((1 - p) * log_ratio);
    const ExponentialMoments of_ratio = exponential_moments(1 - p, log_ratio, power);
    const ExponentialMoments of_one = exponential_moments(b, log_ratio, ratio * power);
    e = ratio * of_ratio.zeroth - of_one.zeroth;
    e_p = of_one.first - ratio * of_ratio.first;
    e_pp = ratio * of_ratio.second - of_one.second;
    if (e < 0) e = 0;
  }
  const double unit = exp(b * log_mu);
  return {unit * e, unit * (e_p - log_mu * e), unit * (e_pp - log_mu * (2 * e_p - log_mu * e))};
}

/// The value of `tweedie_deviance` without its derivatives.
inline double half_tweedie_deviance(double y, double mu, double p) {
  const double b = 2 - p;
  const double log_mu = log(mu);
  if (!(y > 0)) return exp(b * log_mu) / b;
  const double log_ratio = log_ratio_of(y, mu);
  const double of_one = b > 0 ? expm1(b * log_ratio) / b : log_ratio;
  const double of_ratio = exp(log_ratio) * (expm1((1 - p) * log_ratio) / (1 - p));
  const double away = of_ratio - of_one;
  return away > 0 ? exp(b * log_mu) * away : 0.0 * away;
}

}  // namespace TESSERA_NAMESPACE::gam
