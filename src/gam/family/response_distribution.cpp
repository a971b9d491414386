// SPDX-License-Identifier: Apache-2.0
#include "gam/family/response_distribution.hpp"

#include "base/errors.hpp"
#include "base/math/gamma.hpp"
#include "base/math/normal.hpp"
#include "base/math_policy.hpp"
#include "gam/family/ocat.hpp"
#include "gam/family/tweedie_series.hpp"
#include "gam/family/zip.hpp"

#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/math/tools/toms748_solve.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <random>
#include <string_view>
#include <tuple>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

namespace bm = boost::math;

using base::MathPolicy;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

double normal_below(double z) {
  return base::erfc(-z / std::numbers::sqrt2) / 2;
}

double gamma_below(double shape, double x) {
  return x > 0 ? bm::gamma_p(shape, x, MathPolicy()) : 0;
}

/// P(Y <= y) of an inverse Gaussian with shape 1/scale. The second term is exp(2/(scale mean)) times a normal
/// tail probability. An asymptotic series of the tail avoids overflow of the exponential.
double inverse_gaussian_below(double y, double mean, double scale) {
  const double root = 1 / std::sqrt(scale * y);
  const double near = root * (y / mean - 1);
  const double far = root * (y / mean + 1) / std::numbers::sqrt2;
  constexpr double asymptotic = 8;
  if (far < asymptotic) return normal_below(near) + base::exp(2 / (scale * mean)) * base::erfc(far) / 2;
  // erfc(x) = exp(-x^2) / (x sqrt(pi)) (1 - 1 / (2 x^2) + 3 / (4 x^4) - …)
  double series = 1;
  double term = 1;
  for (int k = 1; k <= 12; ++k) {
    term *= -(2 * k - 1) / (2 * far * far);
    series += term;
  }
  return normal_below(near) + base::exp(-near * near / 2) * series / (2 * far * std::sqrt(std::numbers::pi));
}

/// The Poisson probability of n in saddle-point form, for a large rate. n is near the rate and may be
/// fractional.
double poisson_density(double n, double rate) {
  const double away = (n - rate) / rate;
  const double distance = rate * ((1 + away) * log1p_less(away) + away * away);
  return base::exp(-distance - stirling_rest(n).value) / std::sqrt(2 * std::numbers::pi * n);
}

/// P(Y <= y) of a Tweedie response, a Poisson sum of gamma variates. With a large rate only every `step`-th
/// term is evaluated, as in tweedie_series.hpp.
double tweedie_below(double y, double mean, double power, double scale) {
  if (y < 0) return 0;
  const double rate = base::pow(mean, 2 - power) / (scale * (2 - power));
  const double shape = (2 - power) / (power - 1);
  const double unit = scale * (power - 1) * base::pow(mean, power - 1);
  // Truncates the Poisson sum at this many standard deviations from the mean.
  constexpr double reach = 8;
  constexpr double many = 1000;
  constexpr double steps_per_width = 1.5;
  const double spread = reach * std::sqrt(rate) + reach * reach / 2;
  const double first = std::floor(std::max(0.0, rate - spread));
  const double last = std::ceil(rate + spread);
  const double step = rate > many ? std::max(1.0, std::sqrt(rate / (1 + shape)) / steps_per_width) : 1;
  double sum = 0;
  for (double n = first; n <= last; n += step) {
    const double weight =
        rate > many ? poisson_density(n, rate) : base::exp(n * base::log(rate) - rate - base::lgamma(n + 1));
    sum += n == 0 ? weight : weight * gamma_below(n * shape, y / unit);
  }
  return std::min(step * sum, 1.0);
}

}  // namespace

double quantile_residual(const ResponseProbabilities& of, std::uint64_t drawn) {
  if (std::isnan(of.below) || std::isnan(of.up_to)) return nan;
  const double u = std::ldexp(static_cast<double>(drawn >> 11) + 0.5, -53);
  const double p = std::clamp(of.below + u * (of.up_to - of.below), 1e-300, 1 - 0x1p-53);
  return bm::quantile(bm::normal_distribution<double, MathPolicy>(), p);
}

/// Expectation of `cumulative` over a normal linear predictor. The trapezoidal rule converges exponentially
/// for a smooth function times the normal density.
struct ResponseDistribution::Mixture {
  const ResponseDistribution& of;
  double predictor;
  double error;
  int level = 1;  ///< refinement level of the last call

  double operator()(double y) {
    if (error == 0) return of.cumulative(y, of.family_.mean(predictor));
    constexpr double reach = 7;
    constexpr double coarse = 0.5;
    constexpr double tolerance = 1e-10;
    constexpr int finest = 12;
    const auto sum_at = [&](double begin, double step) {
      double sum = 0;
      for (double z = begin; z <= reach; z += step) {
        sum += base::exp(-z * z / 2) * of.cumulative(y, of.family_.mean(predictor + error * z));
      }
      return sum * step / std::sqrt(2 * std::numbers::pi);
    };
    double step = std::ldexp(coarse, 1 - level);
    double whole = sum_at(-reach, step);
    for (;; ++level) {
      const double between = sum_at(-reach + step / 2, step);
      const double difference = std::abs(whole - between);
      whole = (whole + between) / 2;
      step /= 2;
      if (!(difference > tolerance) || level == finest) return whole;
    }
  }
};

ResponseDistribution::ResponseDistribution(Family family, double scale)
    : family_(std::move(family)), scale_(scale) {
  const std::string_view name = family_.custom() != nullptr ? "" : family_.name();
  const auto parameters = family_.parameters();
  if (!parameters.empty()) parameter_ = parameters[0];
  if (name == "gaussian") {
    kind_ = Kind::gaussian;
  } else if (name == "cnorm" || name == "clog") {
    kind_ = name == "cnorm" ? Kind::gaussian : Kind::logistic;
    scale_ = parameter_ * parameter_;
  } else if (name == "scat") {
    kind_ = Kind::scaled_t;
    scale_ = parameters[1];
  } else if (name == "betar") {
    kind_ = Kind::beta;
  } else if (name == "Gamma" || name == "inverse.gaussian") {
    kind_ = Kind::positive;
    inverse_gaussian_ = name == "inverse.gaussian";
  } else if (name == "tw" || name == "Tweedie") {
    kind_ = parameter_ == 2 ? Kind::positive : Kind::tweedie;
  } else if (name == "poisson" || name == "nb" || name == "cpois") {
    kind_ = Kind::count;
  } else if (name == "binomial") {
    kind_ = Kind::one_trial;
  } else if (name == "ocat") {
    kind_ = Kind::ordered;
  } else if (name == "ziP") {
    kind_ = Kind::zero_inflated;
    two_predictors_ = several_family("ziplss", {});
  } else if (family_.several() != nullptr) {
    throw base::usage_error(
        "the distribution of the response is not available for the family {}, with several linear predictors",
        name);
  } else {
    throw base::usage_error(
        "the distribution of the response is needed, but the family {} has only a {}: take another family",
        family_.name(), name == "elf" ? "quantile" : "variance function");
  }
}

std::array<double, 2> ResponseDistribution::predictors_of(double gamma) const {
  return {gamma, ZiP(family_.parameters().data()).presence(gamma)};
}

double ResponseDistribution::cumulative(double y, double mean) const {
  return cumulative_at(y, mean, scale_);
}

double ResponseDistribution::cumulative_at(double y, double mean, double scale) const {
  switch (kind_) {
    case Kind::gaussian: return normal_below((y - mean) / std::sqrt(scale));
    case Kind::logistic: return 1 / (1 + base::exp((mean - y) / std::sqrt(scale)));
    case Kind::scaled_t:
      return bm::cdf(bm::students_t_distribution<double, MathPolicy>(parameter_), (y - mean) / scale);
    case Kind::beta:
      if (y <= 0 || y >= 1) return y >= 1 ? 1 : 0;
      // A mean rounded to 0 or 1 is a point mass there.
      if (mean <= 0 || mean >= 1) return mean <= 0 ? 1 : 0;
      return bm::ibeta(mean * parameter_, (1 - mean) * parameter_, y, MathPolicy());
    case Kind::positive:
      if (y <= 0) return 0;
      return inverse_gaussian_ ? inverse_gaussian_below(y, mean, scale)
                               : gamma_below(1 / scale, y / (mean * scale));
    case Kind::tweedie: return tweedie_below(y, mean, parameter_, scale);
    case Kind::count:
      if (y < 0) return 0;
      return family_.parameters().empty()
                 ? bm::gamma_q(std::floor(y) + 1, mean, MathPolicy())
                 : bm::ibeta(parameter_, std::floor(y) + 1, parameter_ / (parameter_ + mean), MathPolicy());
    case Kind::one_trial: return y < 0 ? 0 : y < 1 ? 1 - mean : 1;
    case Kind::ordered:
      return Ocat(family_.parameters().data(), static_cast<int>(family_.parameters().size())).up_to(y, mean);
    case Kind::zero_inflated:
      return y < 0 ? 0 : two_predictors_->probabilities(std::floor(y), predictors_of(mean)).up_to;
  }
  return nan;
}

double ResponseDistribution::draw(double mean, double weight, base::RandomPlace& random) const {
  if (std::isnan(mean) || std::isnan(weight)) return nan;
  if (kind_ == Kind::zero_inflated) return two_predictors_->quantile(random.uniform(), predictors_of(mean));
  if (std::isinf(mean) && kind_ != Kind::ordered) return kind_ == Kind::count ? nan : mean;
  if (kind_ == Kind::positive && mean == 0) return 0;
  const auto gamma = [&](double shape, double unit) {
    return std::gamma_distribution<double>(shape, unit)(random);
  };
  const auto poisson = [&](double rate) {
    return rate > 0 ? static_cast<double>(std::poisson_distribution<std::int64_t>(rate)(random)) : 0.0;
  };
  const double scale = scale_ / weight;
  switch (kind_) {
    case Kind::gaussian: return mean + std::sqrt(scale) * std::normal_distribution<double>()(random);
    case Kind::logistic: {
      const double p = random.uniform();
      return mean + std::sqrt(scale) * base::log(p / (1 - p));
    }
    case Kind::scaled_t: return mean + scale_ * std::student_t_distribution<double>(parameter_)(random);
    case Kind::beta: {
      if (mean <= 0 || mean >= 1) return mean <= 0 ? 0 : 1;
      const double successes = gamma(mean * parameter_, 1);
      const double failures = gamma((1 - mean) * parameter_, 1);
      // Both variates underflow only if the distribution is concentrated at 0 and 1.
      if (successes + failures == 0) return random.uniform() < mean ? 1 : 0;
      return successes / (successes + failures);
    }
    case Kind::positive: {
      if (!inverse_gaussian_) return gamma(1 / scale, mean * scale);
      // Michael, Schucany and Haas, The American Statistician 30 (1976), in a form without cancellation.
      const double z = std::normal_distribution<double>()(random);
      const double w = mean * scale * z * z / 2;
      const double smaller = mean / (1 + w + std::sqrt(w * (2 + w)));
      return random.uniform() * (mean + smaller) <= mean ? smaller : mean * (mean / smaller);
    }
    case Kind::tweedie: {
      const double number = poisson(base::pow(mean, 2 - parameter_) / (scale * (2 - parameter_)));
      if (number == 0) return 0;
      return gamma(number * (2 - parameter_) / (parameter_ - 1),
                   scale * (parameter_ - 1) * base::pow(mean, parameter_ - 1));
    }
    case Kind::count:
      return poisson(family_.parameters().empty() ? mean : gamma(parameter_, mean / parameter_));
    case Kind::one_trial: {
      const auto trials = static_cast<std::int64_t>(std::max(1.0, weight));
      const double p = std::clamp(mean, 0.0, 1.0);
      return static_cast<double>(std::binomial_distribution<std::int64_t>(trials, p)(random)) /
             static_cast<double>(trials);
    }
    case Kind::ordered: {
      const double p = random.uniform();
      double own = 1;
      while (cumulative(own, mean) < p) ++own;
      return own;
    }
    case Kind::zero_inflated: break;
  }
  return nan;
}

ResponseProbabilities ResponseDistribution::probabilities(Response y, double mean, double weight) const {
  if (y.is_censored()) {
    if (!(weight > 0) || (kind_ == Kind::count && weight != 1)) return {nan, nan};
    const double scale = scale_ / weight;
    return {std::isinf(y.lower()) ? 0 : cumulative_at(y.lower(), mean, scale),
            std::isinf(y.upper()) ? 1 : cumulative_at(y.upper(), mean, scale)};
  }
  switch (kind_) {
    case Kind::gaussian:
    case Kind::logistic:
    case Kind::positive:
    case Kind::tweedie: {
      if (!(weight > 0)) return {nan, nan};
      const double up_to = cumulative_at(y, mean, scale_ / weight);
      return {kind_ == Kind::tweedie && y <= 0 ? 0 : up_to, up_to};
    }
    case Kind::scaled_t:
    case Kind::beta: {
      const double up_to = weight == 1 ? cumulative(y, mean) : nan;
      return {up_to, up_to};
    }
    case Kind::ordered:
    case Kind::zero_inflated:
    case Kind::count:
      if (weight != 1) return {nan, nan};
      return {cumulative(y - 1, mean), cumulative(y, mean)};
    case Kind::one_trial: {
      if (!(weight > 0) || weight != std::round(weight)) return {nan, nan};
      const double successes = std::round(y * weight);
      const auto up_to = [&](double count) {
        if (count < 0 || count >= weight) return count < 0 ? 0.0 : 1.0;
        return bm::ibeta(weight - count, count + 1, 1 - mean, MathPolicy());
      };
      return {up_to(successes - 1), up_to(successes)};
    }
  }
  return {nan, nan};
}

double ResponseDistribution::probability_of_zero(double mean) const {
  if (kind_ == Kind::count || kind_ == Kind::zero_inflated) return cumulative(0, mean);
  if (kind_ != Kind::tweedie) return nan;
  return base::exp(-base::pow(mean, 2 - parameter_) / (scale_ * (2 - parameter_)));
}

double ResponseDistribution::quantile(double p, double predictor, double error) const {
  if (std::isnan(predictor) || !std::isfinite(error)) return nan;
  if (std::isinf(predictor)) {
    // The mean is at its limit, whatever the standard error.
    error = 0;
    if (const double mean = family_.mean(predictor); !std::isfinite(mean)) return mean;
  }
  if (kind_ == Kind::gaussian && family_.linear())
    return predictor +
           bm::quantile(bm::normal_distribution<double, MathPolicy>(), p) * std::sqrt(error * error + scale_);
  Mixture mixture{*this, predictor, error};
  if (kind_ == Kind::count || kind_ == Kind::one_trial || kind_ == Kind::ordered ||
      kind_ == Kind::zero_inflated)
    return whole(p, mixture);
  return continuous(p, mixture);
}

double ResponseDistribution::continuous(double p, Mixture& mixture) const {
  const bool positive = kind_ == Kind::positive || kind_ == Kind::tweedie;
  if (kind_ == Kind::tweedie && mixture(0) >= p) return 0;
  // The root search for positive responses is on the log scale.
  const auto response = [&](double x) { return positive ? base::exp(x) : x; };
  const auto excess = [&](double x) { return mixture(response(x)) - p; };
  const double mean = family_.mean(mixture.predictor);
  double low = 0;
  double high = 1;
  double at_low = -p;
  double at_high = 1 - p;
  if (kind_ != Kind::beta) {
    const double centre = positive ? base::log(mean) : mean;
    double width = positive ? 1
                            : (kind_ == Kind::scaled_t ? scale_ : std::sqrt(scale_)) +
                                  std::abs(family_.derivative(mixture.predictor)) * mixture.error;
    low = high = centre;
    at_low = at_high = excess(centre);
    constexpr int most_steps = 60;
    for (int step = 0; at_low > 0 && step < most_steps; ++step, width *= 2) {
      std::tie(high, at_high) = std::pair(low, at_low);
      low -= width;
      at_low = excess(low);
    }
    for (int step = 0; at_high < 0 && step < most_steps; ++step, width *= 2) {
      std::tie(low, at_low) = std::pair(high, at_high);
      high += width;
      at_high = excess(high);
    }
  }
  if (at_low == 0) return response(low);
  if (at_high == 0) return response(high);
  if (!(at_low < 0 && at_high > 0)) return nan;
  constexpr int bits = 40;  // relative accuracy of 1e-12
  std::uintmax_t iterations = 100;
  const auto found = bm::tools::toms748_solve(
      excess, low, high, at_low, at_high, bm::tools::eps_tolerance<double>(bits), iterations, MathPolicy());
  return response((found.first + found.second) / 2);
}

double ResponseDistribution::whole(double p, Mixture& mixture) const {
  if (mixture(0) >= p) return 0;
  double low = 0;  // exclusive lower bound of the quantile
  double high = std::max(1.0, std::ceil(std::min(family_.mean(mixture.predictor), 1e15)));
  constexpr double most = 9e15;
  while (mixture(high) < p) {
    low = high;
    high *= 2;
    if (high > most) return std::numeric_limits<double>::infinity();
  }
  while (high - low > 1) {
    const double middle = std::floor((low + high) / 2);
    (mixture(middle) < p ? low : high) = middle;
  }
  return high;
}

}  // namespace TESSERA_NAMESPACE::gam
