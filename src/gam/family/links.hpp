// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cmath>
#include <limits>

/// The links of families, with R's functions and bounds. Host and kernels use the same source; in kernels the
/// link is a constant.
namespace TESSERA_NAMESPACE::gam {

enum class Link { identity, log, inverse, sqrt, logit, probit, cloglog, cauchit, inverse_square };

inline constexpr const char* link_names[] = {"identity", "log",     "inverse", "sqrt",  "logit",
                                             "probit",   "cloglog", "cauchit", "1/mu^2"};

inline double normal_probability(double x) {
  return 0.5 * erfc(-x * 0.70710678118654752);
}
inline double normal_density(double x) {
  return 0.39894228040143268 * exp(-0.5 * x * x);
}
/// The normal quantile by Newton's method. It starts at 0 in the lower tail, where the distribution function
/// is convex, so that iterates do not overshoot.
inline double probit_of(double p) {
  const double tail = p < 0.5 ? p : 1 - p;
  double x = 0;
  double step = -1;
  for (int i = 0; i < 100 && fabs(step) > 1e-16 * fabs(x); ++i) {
    step = (tail - normal_probability(x)) / normal_density(x);
    x += step;
  }
  return p < 0.5 ? x : -x;
}

/// x, limited to the interval.
inline double within(double low, double x, double high) {
  return x < low ? low : x > high ? high : x;
}

/// The predictor of a mean; NaN or infinite if there is none.
inline double link_of(Link link, double mu) {
  constexpr double pi = 3.141592653589793;
  switch (link) {
    case Link::identity: return mu;
    case Link::log: return log(mu);
    case Link::inverse: return 1 / mu;
    case Link::sqrt: return sqrt(mu);
    case Link::probit: return probit_of(mu);
    case Link::cloglog: return log(-log1p(-mu));
    case Link::cauchit: return tan(pi * (mu - 0.5));
    case Link::inverse_square: return 1 / (mu * mu);
    case Link::logit: return log(mu / (1 - mu));
  }
  return std::numeric_limits<double>::quiet_NaN();
}

inline double mean_of(Link link, double eta) {
  constexpr double pi = 3.141592653589793;
  constexpr double epsilon = std::numeric_limits<double>::epsilon();
  switch (link) {
    case Link::identity: return eta;
    case Link::log: return exp(eta) > epsilon ? exp(eta) : epsilon;
    case Link::inverse: return 1 / eta;
    case Link::sqrt: return eta * eta;
    case Link::probit: return normal_probability(within(-8.125890664701906, eta, 8.125890664701906));
    case Link::cloglog: return within(epsilon, -expm1(-exp(eta)), 1 - epsilon);
    case Link::cauchit: {
      const double share = eta < -1 ? -atan(1 / eta) / pi : 0.5 + atan(eta) / pi;
      return within(epsilon, share, 1 - epsilon);
    }
    case Link::inverse_square: return 1 / sqrt(eta);
    case Link::logit: {
      const double e = eta < -30 ? epsilon : eta > 30 ? 1 / epsilon : exp(eta);
      return e / (1 + e);
    }
  }
  return std::numeric_limits<double>::quiet_NaN();
}

/// dmu/deta at a predictor.
inline double derivative_of(Link link, double eta) {
  constexpr double pi = 3.141592653589793;
  constexpr double epsilon = std::numeric_limits<double>::epsilon();
  double slope = std::numeric_limits<double>::quiet_NaN();
  switch (link) {
    case Link::identity: return 1;
    case Link::log: return mean_of(link, eta);
    case Link::inverse: return -1 / (eta * eta);
    case Link::sqrt: return 2 * eta;
    case Link::inverse_square: return -0.5 / (eta * sqrt(eta));
    case Link::probit: slope = normal_density(eta); break;
    case Link::cloglog: slope = eta > 700 ? 0.0 : exp(eta - exp(eta)); break;
    case Link::cauchit: slope = 1 / (pi * (1 + eta * eta)); break;
    case Link::logit: {
      const double e = exp(eta);
      slope = eta < -30 || eta > 30 ? epsilon : e / ((1 + e) * (1 + e));
      break;
    }
  }
  return slope < epsilon ? epsilon : slope;
}

}  // namespace TESSERA_NAMESPACE::gam
