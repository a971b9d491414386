// SPDX-License-Identifier: Apache-2.0
#include "gam/family/family.hpp"

#include <algorithm>
#include <limits>
#include <numbers>

namespace tessera::gam {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A count within R's tolerance of an integer.
bool is_integer(double x) {
  return std::abs(x - std::nearbyint(x)) <= 1e-7 * std::max(1.0, std::abs(x));
}

/// std::lgamma, but for several threads: that one writes its sign to a variable of the process.
double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

/// x log(p), 0 at x = 0 whatever p is.
double x_log_p(double x, double p) {
  return x == 0 ? 0.0 : x * std::log(p);
}

double log_binomial(double successes, double trials, double p) {
  return log_gamma(trials + 1) - log_gamma(successes + 1) - log_gamma(trials - successes + 1) +
         x_log_p(successes, p) + x_log_p(trials - successes, 1 - p);
}

double log_poisson(double count, double mean) {
  if (!is_integer(count)) return -infinity;
  const double whole = std::nearbyint(count);
  return x_log_p(whole, mean) - mean - log_gamma(whole + 1);
}

double log_gamma_density(double y, double shape, double mean) {
  const double scale = mean / shape;
  return (shape - 1) * std::log(y / scale) - y / scale - log_gamma(shape) - std::log(scale);
}

}  // namespace

std::optional<Family> parse_family(std::string_view text) {
  if (text == "gaussian") return Family::gaussian;
  if (text == "binomial") return Family::binomial;
  if (text == "poisson") return Family::poisson;
  if (text == "gamma" || text == "Gamma") return Family::gamma;
  return std::nullopt;
}

std::string_view family_name(Family family) {
  switch (family) {
    case Family::gaussian: return "gaussian";
    case Family::binomial: return "binomial";
    case Family::poisson: return "poisson";
    case Family::gamma: return "Gamma";
    case Family::custom: return "custom";
  }
  return "";
}

std::string_view link_name(Family family) {
  switch (family) {
    case Family::gaussian: return "identity";
    case Family::binomial: return "logit";
    default: return "log";
  }
}

bool scale_is_known(Family family) {
  return family == Family::binomial || family == Family::poisson;
}

std::optional<std::string_view> response_fault(Family family, double y) {
  if (!std::isfinite(y)) return "must be finite";
  switch (family) {
    case Family::gaussian: return std::nullopt;
    case Family::binomial:
      if (y < 0 || y > 1) return "must be between 0 and 1";
      return std::nullopt;
    case Family::poisson:
      if (y < 0) return "must not be negative";
      return std::nullopt;
    case Family::gamma:
      if (!(y > 0)) return "must be greater than 0";
      return std::nullopt;
    case Family::custom: return std::nullopt;
  }
  return std::nullopt;
}

double link(Family family, double mu) {
  switch (family) {
    case Family::gaussian: return mu;
    case Family::binomial: return std::log(mu / (1 - mu));
    default: return std::log(mu);
  }
}

double aic_scale(Family family, double deviance, double rows, double scale) {
  switch (family) {
    case Family::gaussian: return deviance / rows;
    case Family::gamma: return scale;
    default: return 1;
  }
}

bool likelihood_rounds(Family family, double y, double weight) {
  return family == Family::binomial && !(is_integer(weight) && is_integer(weight * y));
}

double minus_two_log_likelihood(Family family, double y, double mu, double weight, double scale) {
  if (!(weight > 0)) return 0;
  switch (family) {
    case Family::gaussian:
      return std::log(2 * std::numbers::pi * scale) + weight * (y - mu) * (y - mu) / scale - std::log(weight);
    case Family::binomial: return -2 * log_binomial(std::nearbyint(weight * y), std::nearbyint(weight), mu);
    case Family::poisson: return -2 * weight * log_poisson(y, mu);
    case Family::gamma: return -2 * weight * log_gamma_density(y, 1 / scale, mu);
    case Family::custom: return std::numeric_limits<double>::quiet_NaN();
  }
  return 0;
}

}  // namespace tessera::gam
