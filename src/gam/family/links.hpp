// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/arithmetic.hpp"

#include <tessera/version.hpp>

#include <cmath>
#include <limits>

/// Link functions, with R's formulas and bounds, for the host and for kernels. In kernels `link` is a
/// compile-time constant.
namespace TESSERA_NAMESPACE::gam {

enum class Link { identity, log, inverse, sqrt, logit, probit, cloglog, cauchit, inverse_square };

inline constexpr const char* link_names[] = {"identity", "log",     "inverse", "sqrt",  "logit",
                                             "probit",   "cloglog", "cauchit", "1/mu^2"};

template <FormulaNumber T>
T normal_density(const T& x) {
  return 0.39894228040143268 * exp(-0.5 * x * x);
}
/// Normal quantile by Newton's method from 0 in the lower tail. The distribution function is convex there, so
/// that iterates do not overshoot.
template <FormulaNumber T>
T probit_of(const T& p) {
  const T tail = choose(p < 0.5, p, 1.0 - p);
  T x(0.0);
  T step(-1.0);
  for (int i = 0; i < 100; ++i) {
    const auto goes_on = fabs(step) > 1e-16 * fabs(x);
    if (!any(goes_on)) break;
    step = choose(goes_on, (tail - normal_probability(x)) / normal_density(x), T(0.0));
    x += step;
  }
  return choose(p < 0.5, x, -x);
}

/// The linear predictor of a mean; NaN or infinite if the mean has none.
template <FormulaNumber T>
T link_of(Link link, const T& mu) {
  constexpr double pi = 3.141592653589793;
  switch (link) {
    case Link::identity: return mu;
    case Link::log: return log(mu);
    case Link::inverse: return 1.0 / mu;
    case Link::sqrt: return sqrt(mu);
    case Link::probit: return probit_of(mu);
    case Link::cloglog: return log(-log1p(-mu));
    case Link::cauchit: return tan(pi * (mu - 0.5));
    case Link::inverse_square: return 1.0 / (mu * mu);
    case Link::logit: return log(mu / (1.0 - mu));
  }
  return T(std::numeric_limits<double>::quiet_NaN());
}

/// max(exp(eta), `least`).
template <FormulaNumber T>
T exp_at_least(const T& eta, double least) {
  const T mu = exp(eta);
  return choose(mu > least, mu, T(least));
}

template <FormulaNumber T>
T mean_of(Link link, const T& eta) {
  constexpr double pi = 3.141592653589793;
  constexpr double epsilon = std::numeric_limits<double>::epsilon();
  switch (link) {
    case Link::identity: return eta;
    case Link::log: return exp_at_least(eta, epsilon);
    case Link::inverse: return 1.0 / eta;
    case Link::sqrt: return eta * eta;
    case Link::probit: return normal_probability(within(-8.125890664701906, eta, 8.125890664701906));
    case Link::cloglog: return within(epsilon, -expm1(-exp(eta)), 1 - epsilon);
    case Link::cauchit: {
      const auto is_low = eta < -1.0;
      const T angle = atan(choose(is_low, 1.0 / eta, eta)) / pi;
      return within(epsilon, choose(is_low, -angle, 0.5 + angle), 1 - epsilon);
    }
    case Link::inverse_square: return 1.0 / sqrt(eta);
    case Link::logit: {
      const T e = choose(eta < -30.0, T(epsilon), choose(eta > 30.0, T(1 / epsilon), exp(eta)));
      return e / (1.0 + e);
    }
  }
  return T(std::numeric_limits<double>::quiet_NaN());
}

/// dmu/deta.
template <FormulaNumber T>
T derivative_of(Link link, const T& eta) {
  constexpr double pi = 3.141592653589793;
  constexpr double epsilon = std::numeric_limits<double>::epsilon();
  T slope(std::numeric_limits<double>::quiet_NaN());
  switch (link) {
    case Link::identity: return T(1.0);
    case Link::log: return mean_of(link, eta);
    case Link::inverse: return -1.0 / (eta * eta);
    case Link::sqrt: return 2.0 * eta;
    case Link::inverse_square: return -0.5 / (eta * sqrt(eta));
    case Link::probit: slope = normal_density(eta); break;
    case Link::cloglog: slope = choose(eta > 700.0, T(0.0), exp(eta - exp(eta))); break;
    case Link::cauchit: slope = 1.0 / (pi * (1.0 + eta * eta)); break;
    case Link::logit: {
      const T e = exp(eta);
      const T within_range = e / ((1.0 + e) * (1.0 + e));
      slope = choose(eta < -30.0, T(epsilon), choose(eta > 30.0, T(epsilon), within_range));
      break;
    }
  }
  return choose(slope < epsilon, T(epsilon), slope);
}

}  // namespace TESSERA_NAMESPACE::gam
