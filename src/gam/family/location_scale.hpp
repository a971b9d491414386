// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/parts.hpp"
#include "gam/family/polygamma.hpp"
#include "gam/family/several_row.hpp"
#include "gam/family/tweedie_series.hpp"

#include <cmath>
#include <limits>

/// Families of location, scale and shape, with mgcv's links and constants. T = `Jet` yields derivatives.
///
/// Sources: Wood, Pya and Saefken, JASA 111 (2016), sec. 3 and appendices; Jones and Pewsey, Biometrika 96
/// (2009) for the sinh-arcsinh distribution; Wood and Fasiolo, Biometrics 73 (2017) for Tweedie's.
namespace TESSERA_NAMESPACE::gam {

inline constexpr double half_log_of_two_pi = 0.91893853320467274;
inline constexpr double euler_gamma = 0.57721566490153286;

/// log(1 + exp(x)), without overflow.
template <FormulaNumber T>
T softplus(const T& x) {
  return choose(x > 0.0, x, T(0.0)) + log1p(exp(-fabs(x)));
}
template <FormulaNumber T>
T logistic(const T& x) {
  const T ratio = exp(-fabs(x));
  return choose(x > 0.0, T(1.0), ratio) / (1.0 + ratio);
}
template <int P, class S>
Jet<P, S> softplus(const Jet<P, S>& x) {
  const S slope = logistic(x.value);
  return Jet<P, S>::chain(x, softplus(x.value), slope, slope * logistic(-x.value));
}
template <int P, class S>
Jet<P, S> logistic(const Jet<P, S>& x) {
  const S y = logistic(x.value);
  const S slope = y * logistic(-x.value);
  return Jet<P, S>::chain(x, y, slope, slope * (logistic(-x.value) - y));
}
inline double inverse_softplus(double y) {
  return y > 36 ? y : log(expm1(fmax(y, 1e-300)));
}

/// log(1 - exp(-exp(x))): the log probability of an event under the complementary log-log link.
template <FormulaNumber T>
T log_cloglog(const T& x) {
  const T rate = exp(x);
  return choose(rate < 1.0, log(-expm1(-rate)), log1p(-exp(-rate)));
}
template <int P, class S>
Jet<P, S> log_cloglog(const Jet<P, S>& x) {
  const S rate = exp(x.value);
  const S none(0.0);
  const S slope = choose(rate > 700.0, none, choose(rate == 0.0, S(1.0), rate / expm1(rate)));
  const S back = choose(rate == 0.0, none, 1.0 - rate / -expm1(-rate));
  return Jet<P, S>::chain(x, log_cloglog(x.value), slope, choose(slope == 0.0, none, slope * back));
}

/// log(cosh(x)), without overflow.
template <FormulaNumber T>
T log_cosh(const T& x) {
  return fabs(x) + log1p(exp(-2.0 * fabs(x))) - 0.69314718055994531;
}
template <int P, class S>
Jet<P, S> log_cosh(const Jet<P, S>& x) {
  const S slope = tanh(x.value);
  return Jet<P, S>::chain(x, log_cosh(x.value), slope, 1.0 - slope * slope);
}

/// log(1 + x)/x and its first two derivatives; Taylor series near 0.
template <class T>
struct LogRatio {
  T value, slope, curvature;
};
template <FormulaNumber T>
LogRatio<T> log_ratio(const T& x) {
  constexpr int terms = 14;
  LogRatio<T> sum{T(0.0), T(0.0), T(0.0)};
  for (int k = terms; k >= 0; --k) {
    // Horner's rule for the value and both derivatives.
    sum.curvature = sum.curvature * x + 2.0 * sum.slope;
    sum.slope = sum.slope * x + sum.value;
    sum.value = sum.value * x + (k % 2 == 0 ? 1.0 : -1.0) / (k + 1);
  }
  const auto near = fabs(x) < 0.05;
  const T ratio = log1p(x) / x;
  const T inverse = 1.0 / (1.0 + x);
  const T slope = (inverse - ratio) / x;
  return {choose(near, sum.value, ratio), choose(near, sum.slope, slope),
          choose(near, sum.curvature, (-inverse * inverse - 2.0 * slope) / x)};
}
template <FormulaNumber T>
T log1p_over(const T& x) {
  return log_ratio(x).value;
}
template <int P, class S>
Jet<P, S> log1p_over(const Jet<P, S>& x) {
  const LogRatio<S> at = log_ratio(x.value);
  return Jet<P, S>::chain(x, at.value, at.slope, at.curvature);
}

template <FormulaNumber T>
T log_gamma_of(const T& x) {
  return polygamma(x).log_gamma;
}
template <int P, class S>
Jet<P, S> log_gamma_of(const Jet<P, S>& x) {
  const Polygamma<S> at = polygamma(x.value);
  return Jet<P, S>::chain(x, at.log_gamma, at.digamma, at.trigamma);
}

/// F(c, s) of tweedie_series.hpp.
template <FormulaNumber T>
T tweedie_log_series(const T& c, const T& s) {
  return tweedie_series(c, s).value;
}
template <int P, class S>
Jet<P, S> tweedie_log_series(const Jet<P, S>& c, const Jet<P, S>& s) {
  const TweedieTerms<S> at = tweedie_series(c.value, s.value);
  return Jet<P, S>::chain(c, s, at.value, at.by_c, at.by_s, at.by_cc, at.by_cs, at.by_ss);
}

/// Half the unit deviance of the Tweedie family.
template <FormulaNumber T>
T tweedie_misfit(const Same<T>& y, const T& log_mean, const T& p) {
  return half_tweedie_deviance(y, exp(log_mean), p);
}
template <int P, class S>
Jet<P, S> tweedie_misfit(const Same<S>& y, const Jet<P, S>& log_mean, const Jet<P, S>& p) {
  const S mean = exp(log_mean.value);
  const TweedieDeviance<S> at = tweedie_deviance(y, mean, p.value);
  const S unit = exp((2.0 - p.value) * log_mean.value);
  const S away = (y - mean) / mean;
  const S slope = -unit * away;
  return Jet<P, S>::chain(log_mean, p, at.value, slope, at.by_p, unit * (1.0 + (p.value - 1.0) * away),
                          -slope * log_mean.value, at.by_pp);
}

/// A numeric argument of a family's call, with its default `usual`.
template <class F>
struct Constant {
  const char* name;
  double usual;
  double F::*value;
};

/// The links that a call may choose for a linear predictor; the first is the default.
struct LinkChoice {
  int predictor;
  Link links[4];
  int count;
};
/// The inverse of a link of `LinkChoice`; T may be a `Jet`.
template <class T>
T under(Link link, const T& eta) {
  switch (link) {
    case Link::log: return exp(eta);
    case Link::inverse: return 1 / eta;
    case Link::sqrt: return eta * eta;
    default: return eta;
  }
}
/// Initial linear predictor for a mean of `value`, raised to 0.05 `deviation` unless the link is identity.
inline double first_under(Link link, double value, double deviation) {
  constexpr double small = 0.05;
  return link_of(link, link == Link::identity ? value : fmax(value, small * deviation));
}

/// Initial log(standard deviation - b).
inline double first_log_deviation(const ResponseLevel& level, double b) {
  return log(fmax(level.deviation - b, 0.05 * level.deviation));
}
/// The standard deviation of a Gumbel distribution of scale 1, pi / sqrt(6).
inline constexpr double gumbel_deviation = 1.2825498301618641;

/// Normal. Predictors: the mean and log(standard deviation - b).
struct Gaulss {
  static constexpr char name[] = "gaulss";
  static constexpr char type[] = "Gaulss";  ///< name of the type in kernel source
  static constexpr bool in_packets = true;
  static constexpr char meaning[] = "the mean and the standard deviation";
  static constexpr int predictors = 2;
  static constexpr const char* links[] = {"identity", "logb"};
  static constexpr LinkChoice choices[] = {{0, {Link::identity, Link::inverse, Link::log, Link::sqrt}, 4}};
  static constexpr NullPredictors null = NullPredictors::mean;

  double b;
  static constexpr Constant<Gaulss> constants[] = {{"b", 0.01, &Gaulss::b}};
  Link chosen[1] = {Link::identity};

  static const char* response_fault(double) { return nullptr; }
  void first(const ResponseLevel& level, double* eta) const {
    eta[0] = first_under(chosen[0], level.mean, level.deviation);
    eta[1] = first_log_deviation(level, b);
  }
  template <class T>
  [[nodiscard]] T mean(const T& eta) const {
    return under(chosen[0], eta);
  }
  template <class T>
  [[nodiscard]] T inverse_deviation(const T& eta) const {
    return 1 / (exp(eta) + b);
  }
  template <class T>
  [[nodiscard]] T log_likelihood(const NumberOf<T>& y, const T* eta) const {
    const T tau = inverse_deviation(eta[1]);
    const T z = (y - mean(eta[0])) * tau;
    return -0.5 * (z * z) + log(tau) - half_log_of_two_pi;
  }
  template <class T>
  void respond(const T* eta, T* out) const {
    out[0] = mean(eta[0]);
    out[1] = inverse_deviation(eta[1]);
  }
  [[nodiscard]] double squared_residual(double y, const double* eta) const {
    const double z = (y - mean(eta[0])) * inverse_deviation(eta[1]);
    return z * z;
  }
  [[nodiscard]] double predictor_of_mean(double mean) const { return link_of(chosen[0], mean); }
};

/// The log scale of `Gammals` and `Gumbls` as a function of its linear predictor eta: b + softplus(eta), or
/// eta with the identity link.
struct LogScale {
  static constexpr LinkChoice choices[] = {{1, {Link::log, Link::identity}, 2}};

  double b;
  static constexpr Constant<LogScale> constants[] = {{"b", -7, &LogScale::b}};
  Link chosen[1] = {Link::log};

  template <class T>
  [[nodiscard]] T log_scale(const T& eta) const {
    return chosen[0] == Link::log ? softplus(eta) + b : eta;
  }
  [[nodiscard]] double first_log_scale(double value) const {
    return chosen[0] == Link::log ? inverse_softplus(value - b) : value;
  }
};

/// Gamma. Predictors: the log mean and `LogScale`; the scale is the squared coefficient of variation.
struct Gammals : LogScale {
  static constexpr char name[] = "gammals";
  static constexpr char type[] = "Gammals";
  static constexpr bool in_packets = true;
  static constexpr char meaning[] = "the mean and the scale";
  static constexpr int predictors = 2;
  static constexpr const char* links[] = {"identity", "log"};
  static constexpr NullPredictors null = NullPredictors::mean;

  static const char* response_fault(double y) { return y > 0 ? nullptr : "must be above 0"; }
  void first(const ResponseLevel& level, double* eta) const {
    eta[0] = log(level.mean);
    eta[1] = first_log_scale(2 * log(level.deviation / level.mean));
  }
  template <class T>
  [[nodiscard]] T log_likelihood(const NumberOf<T>& y, const T* eta) const {
    const T shape = exp(-log_scale(eta[1]));
    return shape * (log(shape) + log(y) - eta[0] - y * exp(-eta[0])) - log(y) - log_gamma_of(shape);
  }
  template <class T>
  void respond(const T* eta, T* out) const {
    out[0] = exp(eta[0]);
    out[1] = log_scale(eta[1]);
  }
  [[nodiscard]] double squared_residual(double y, const double* eta) const {
    const double ratio = y * exp(-eta[0]);
    return 2 * (ratio - 1 - log(ratio)) * exp(-log_scale(eta[1]));
  }
  static double predictor_of_mean(double mean) { return log(mean); }
};

/// Gumbel. Predictors: the location and `LogScale`.
struct Gumbls : LogScale {
  static constexpr char name[] = "gumbls";
  static constexpr char type[] = "Gumbls";
  /// The sign of a residual is that of y - location, not y - mean.
  static constexpr bool side_of_location = true;
  static constexpr bool in_packets = true;
  static constexpr char meaning[] = "the location and the scale";
  static constexpr int predictors = 2;
  static constexpr const char* links[] = {"identity", "log"};
  static constexpr NullPredictors null = NullPredictors::none;

  static const char* response_fault(double) { return nullptr; }
  void first(const ResponseLevel& level, double* eta) const {
    const double scale = level.deviation / gumbel_deviation;
    eta[0] = level.mean - euler_gamma * scale;
    eta[1] = first_log_scale(log(scale));
  }
  template <class T>
  [[nodiscard]] T log_likelihood(const NumberOf<T>& y, const T* eta) const {
    const T scale = log_scale(eta[1]);
    const T z = (y - eta[0]) * exp(-scale);
    return -scale - z - exp(-z);
  }
  template <class T>
  void respond(const T* eta, T* out) const {
    out[0] = eta[0];
    out[1] = log_scale(eta[1]);
  }
  [[nodiscard]] double squared_residual(double y, const double* eta) const {
    const double z = (y - eta[0]) * exp(-log_scale(eta[1]));
    return 2 * (z + exp(-z) - 1);
  }
  static double predictor_of_mean(double) { return std::numeric_limits<double>::quiet_NaN(); }
};

/// Generalised extreme value. Predictors: location, log scale, shape in (-1, 1/2) (logit link).
struct Gevlss {
  static constexpr char name[] = "gevlss";
  static constexpr char type[] = "Gevlss";
  static constexpr bool in_packets = true;
  static constexpr char meaning[] = "the location, the scale and the shape";
  static constexpr int predictors = 3;
  static constexpr const char* links[] = {"identity", "identity", "logit"};
  static constexpr LinkChoice choices[] = {{0, {Link::identity, Link::log}, 2},
                                           {2, {Link::logit, Link::identity}, 2}};
  static constexpr NullPredictors null = NullPredictors::none;

  Link chosen[2] = {Link::identity, Link::logit};

  static const char* response_fault(double) { return nullptr; }
  void first(const ResponseLevel& level, double* eta) const {
    const double scale = level.deviation / gumbel_deviation;
    eta[0] = first_under(chosen[0], level.mean - euler_gamma * scale, level.deviation);
    eta[1] = log(scale);
    eta[2] = chosen[1] == Link::logit ? log(1.001 / 0.499) : 0.001;  // a shape of 0.001
  }
  template <class T>
  [[nodiscard]] T location(const T& eta) const {
    return under(chosen[0], eta);
  }
  template <class T>
  [[nodiscard]] T shape(const T& eta) const {
    return chosen[1] == Link::logit ? 1.5 * logistic(eta) - 1 : eta;
  }
  /// log(1 + shape z) / shape, also for a shape of 0; NaN outside the support.
  template <class T>
  [[nodiscard]] T reduced(const NumberOf<T>& y, const T* eta, const T& shape) const {
    const T z = (y - location(eta[0])) * exp(-eta[1]);
    return z * log1p_over(shape * z);
  }
  template <class T>
  [[nodiscard]] T log_likelihood(const NumberOf<T>& y, const T* eta) const {
    const T xi = shape(eta[2]);
    const T q = reduced(y, eta, xi);
    return -eta[1] - (1 + xi) * q - exp(-q);
  }
  template <class T>
  void respond(const T* eta, T* out) const {
    out[0] = location(eta[0]);
    out[1] = eta[1];
    out[2] = shape(eta[2]);
  }
  [[nodiscard]] double squared_residual(double y, const double* eta) const {
    const double xi = shape(eta[2]);
    const double q = reduced(y, eta, xi);
    return (1 + xi) * (q + log1p(xi) - 1) + exp(-q);
  }
  static double predictor_of_mean(double) { return std::numeric_limits<double>::quiet_NaN(); }
};

/// Sinh-arcsinh. Predictors: location, log(scale - b), skewness and log kurtosis. As in mgcv, the log
/// likelihood has the ridge penalty `penalty` (log kurtosis)^2.
struct Shash {
  static constexpr char name[] = "shash";
  static constexpr char type[] = "Shash";
  static constexpr bool in_packets = true;
  static constexpr char meaning[] = "the location, the scale, the skewness and the kurtosis";
  static constexpr int predictors = 4;
  static constexpr const char* links[] = {"identity", "logeb", "identity", "identity"};
  static constexpr NullPredictors null = NullPredictors::none;
  static constexpr double penalty = 1e-3;

  double b;
  static constexpr Constant<Shash> constants[] = {{"b", 0.01, &Shash::b}};

  static const char* response_fault(double) { return nullptr; }
  void first(const ResponseLevel& level, double* eta) const {
    eta[0] = level.mean;
    eta[1] = first_log_deviation(level, b);
    eta[2] = eta[3] = 0;
  }
  template <class T>
  [[nodiscard]] T log_deviation(const T& eta) const {
    return log(exp(eta) + b);
  }
  /// The log likelihood without the ridge penalty.
  template <class T>
  [[nodiscard]] T log_density(const NumberOf<T>& y, const T* eta) const {
    const T tau = log_deviation(eta[1]);
    const T delta = exp(eta[3]);
    const T z = (y - eta[0]) * exp(-tau - eta[3]);
    const T bent = delta * asinh(z) - eta[2];
    const T s = sinh(bent);
    return -tau - half_log_of_two_pi + log_cosh(bent) - 0.5 * log1p(z * z) - 0.5 * (s * s);
  }
  template <class T>
  [[nodiscard]] T log_likelihood(const NumberOf<T>& y, const T* eta) const {
    return log_density(y, eta) - penalty * (eta[3] * eta[3]);
  }
  template <class T>
  void respond(const T* eta, T* out) const {
    out[0] = eta[0];
    out[1] = log_deviation(eta[1]);
    out[2] = eta[2];
    out[3] = eta[3];
  }
  [[nodiscard]] double squared_residual(double y, const double* eta) const {
    return fmax(0.0, -2 * log_density(y, eta));
  }
  static double predictor_of_mean(double) { return std::numeric_limits<double>::quiet_NaN(); }
};

/// Tweedie with variance phi mean^p. Predictors: the mean, logit((p - a)/(b - a)) and log phi.
struct Twlss {
  static constexpr char name[] = "twlss";
  static constexpr char type[] = "Twlss";
  static constexpr bool in_packets = true;
  static constexpr bool has_zeros = true;   ///< P(Y = 0) > 0
  static constexpr int late_predictor = 1;  ///< with few responses of 0, p and phi are barely identifiable
  static constexpr char meaning[] = "the mean, the power and the scale";
  static constexpr int predictors = 3;
  static constexpr const char* links[] = {"log", "identity", "identity"};
  static constexpr LinkChoice choices[] = {{0, {Link::log, Link::identity, Link::sqrt}, 3}};
  static constexpr NullPredictors null = NullPredictors::but_scale;

  double a;
  double b;
  static constexpr Constant<Twlss> constants[] = {{"a", 1.01, &Twlss::a}, {"b", 1.99, &Twlss::b}};
  Link chosen[1] = {Link::log};

  /// The condition that the constants violate; null if valid.
  [[nodiscard]] const char* fault() const { return 1 < a && a < b && b < 2 ? nullptr : "1 < a < b < 2"; }
  static const char* response_fault(double y) { return y < 0 ? "must not be negative" : nullptr; }
  void first(const ResponseLevel& level, double* eta) const {
    eta[0] = first_under(chosen[0], level.mean, level.deviation);
    eta[1] = 0;
    eta[2] = 2 * log(level.deviation) - power(0.0) * log(level.mean);
  }
  template <class T>
  [[nodiscard]] T mean(const T& eta) const {
    return under(chosen[0], eta);
  }
  template <class T>
  [[nodiscard]] T log_mean(const T& eta) const {
    return chosen[0] == Link::log ? eta : log(mean(eta));
  }
  template <class T>
  [[nodiscard]] T power(const T& eta) const {
    return a + (b - a) * logistic(eta);
  }
  template <class T>
  [[nodiscard]] T log_likelihood(const NumberOf<T>& y, const T* eta) const {
    const T p = power(eta[1]);
    const T misfit = exp(-eta[2]) * tweedie_misfit(y, log_mean(eta[0]), p);
    const auto is_positive = y > 0.0;
    if (!any(is_positive)) return -misfit;
    const NumberOf<T> log_y = log(choose(is_positive, y, NumberOf<T>(1.0)));
    const T rest = 2 - p;
    const T series = tweedie_log_series(rest / (p - 1), rest * log_y - log(rest) - eta[2]);
    return choose(is_positive, series - log_y - misfit, -misfit);
  }
  template <class T>
  void respond(const T* eta, T* out) const {
    out[0] = mean(eta[0]);
    out[1] = eta[1];
    out[2] = eta[2];
  }
  [[nodiscard]] double squared_residual(double y, const double* eta) const {
    return 2 * exp(-eta[2]) * tweedie_misfit(y, log_mean(eta[0]), power(eta[1]));
  }
  static double predictor_of_mean(double) { return std::numeric_limits<double>::quiet_NaN(); }
};

/// Zero-inflated Poisson. Predictors: the log rate of the zero-truncated Poisson, and the complementary
/// log-log of P(Y > 0).
struct Ziplss {
  static constexpr char name[] = "ziplss";
  static constexpr char type[] = "Ziplss";
  static constexpr bool whole_numbers = true;
  static constexpr bool in_packets = true;
  static constexpr char meaning[] = "the rate and the probability of a count above 0";
  static constexpr int predictors = 2;
  static constexpr const char* links[] = {"identity", "identity"};
  static constexpr NullPredictors null = NullPredictors::constants;
  static constexpr int response_columns = 1;

  static const char* response_fault(double y) {
    if (y < 0) return "must not be negative";
    return is_integer(y) ? nullptr : "must be a whole number";
  }
  void first(const ResponseLevel& level, double* eta) const {
    eta[0] = log(fmax(level.mean, 0.1));
    eta[1] = fmin(fmax(eta[0], -2.0), 0.5);
  }
  template <class T>
  [[nodiscard]] T log_likelihood(const NumberOf<T>& y, const T* eta) const {
    const T of_count =
        log_cloglog(eta[1]) + y * eta[0] - exp(eta[0]) - log_cloglog(eta[0]) - log_gamma_of(y + 1.0);
    return choose(y == 0.0, -exp(eta[1]), of_count);
  }
  /// The mean count, including zeros.
  template <class T>
  void respond(const T* eta, T* out) const {
    out[0] = exp(log_cloglog(eta[1]) + eta[0] - log_cloglog(eta[0]));
  }
  [[nodiscard]] double squared_residual(double y, const double* eta) const {
    // Saturated model: P(Y > 0) = 1, and the rate whose zero-truncated mean is y.
    double saturated = 0;
    if (y > 1) {
      double rate = y;
      for (int step = 0; step < 40; ++step) rate = y * -expm1(-rate);
      const double at[] = {log(rate), 1e2};
      saturated = log_likelihood(y, at);
    }
    return fmax(0.0, 2 * (saturated - log_likelihood(y, eta)));
  }
  static double predictor_of_mean(double) { return std::numeric_limits<double>::quiet_NaN(); }
};

}  // namespace TESSERA_NAMESPACE::gam
