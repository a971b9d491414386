// SPDX-License-Identifier: Apache-2.0
#include "base/math/elementary.hpp"
#include "base/math/trigonometric.hpp"
#include "gam/inference/distributions.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using std::numbers::pi;

constexpr double accuracy_wanted = 2e-5;
constexpr double terms_allowed = 1e5;
/// Maximum number of bounds in all searches. Some tens usually suffice; overflow could make a search endless.
constexpr int bounds_allowed = 10'000;

double square(double x) {
  return x * x;
}

/// log(1 + x) - x, without cancellation near 0.
double log1p_minus(double x) {
  if (std::abs(x) > 0.1) return base::log1p(x) - x;
  // log((1 + y) / (1 - y)) - x with y = x / (2 + x): 2 (y + y^3/3 + y^5/5 + ...) - x, and 2y - x = -xy.
  const double y = x / (2 + x);
  double power = 2 * y * y * y;
  double sum = -x * y;
  for (int k = 3; k < 60; k += 2) {
    const double next = sum + power / k;
    if (next == sum) break;
    sum = next;
    power *= y * y;
  }
  return sum;
}

/// Algorithm AS 155, for central terms only. Names follow section 4 of Davies' paper.
class Davies {
 public:
  Davies(double x, std::span<const ChiSquaredTerm> terms) : x_(x), terms_(terms), by_size_(terms.size()) {
    for (const ChiSquaredTerm& term : terms) {
      const double moment = term.weight * term.df;
      mean_ += moment;
      deviation_ += 2 * term.weight * moment;
      largest_ = std::max(largest_, term.weight);
      smallest_ = std::min(smallest_, term.weight);
    }
    deviation_ = std::sqrt(deviation_);
    std::iota(by_size_.begin(), by_size_.end(), std::size_t{0});
    std::stable_sort(by_size_.begin(), by_size_.end(), [&](std::size_t a, std::size_t b) {
      return std::abs(terms[a].weight) > std::abs(terms[b].weight);
    });
  }

  /// P(sum <= x); empty if more terms or bounds are needed than allowed.
  std::optional<double> probability() {
    double accuracy = accuracy_wanted;
    double allowed = terms_allowed;
    double truncation = 16 / deviation_;
    double upper = 4.5 / deviation_;
    double lower = -upper;
    shrink_truncation(truncation, accuracy / 2);
    if (x_ != 0 && std::max(largest_, -smallest_) > 0.07 * deviation_) {
      if (const auto per_tau = convergence_error(x_)) {
        const double tau = accuracy / 4 / *per_tau;
        if (truncation_error(truncation, tau) < 0.2 * accuracy) {
          variance_ += tau;
          shrink_truncation(truncation, accuracy / 4);
        }
      }
    }
    accuracy /= 2;

    for (;;) {
      const double above = cutoff(accuracy, upper) - x_;
      const double below = x_ - cutoff(accuracy, lower);
      if (!may_go_on()) return std::nullopt;
      if (above < 0) return 1.0;
      if (below < 0) return 0.0;
      const double interval = 2 * pi / std::max(above, below);
      const double needed = truncation / interval;
      if (!std::isfinite(needed)) return std::nullopt;
      const double auxiliary = 3 / std::sqrt(accuracy);
      if (needed > 1.5 * auxiliary) {
        // If many points are needed, use a convergence factor; an auxiliary integration then corrects for it.
        if (auxiliary > allowed) return std::nullopt;
        const int count = static_cast<int>(std::floor(auxiliary + 0.5));
        const double wide = truncation / count;
        const double period = 2 * pi / wide;
        if (period > std::abs(x_)) {
          const auto left = convergence_error(x_ - period);
          const auto right = convergence_error(x_ + period);
          if (left && right) {
            const double tau = 0.33 * accuracy / (1.1 * (*left + *right));
            accuracy *= 0.67;
            integrate(count, wide, tau, false);
            allowed -= auxiliary;
            variance_ += tau;
            shrink_truncation(truncation, accuracy / 4);
            accuracy *= 0.75;
            continue;
          }
        }
      }
      if (needed > allowed) return std::nullopt;
      integrate(static_cast<int>(std::floor(needed + 0.5)), interval, 0, true);
      return 0.5 - integral_;
    }
  }

 private:
  [[nodiscard]] bool may_go_on() const noexcept { return bounds_ <= bounds_allowed; }

  /// Bounds a tail probability by the moment generating function at u; sets `point` to the start of the tail.
  double tail_bound(double u, double& point) const {
    ++bounds_;
    point = u * variance_;
    double exponent = u * point;
    for (auto term = terms_.rbegin(); term != terms_.rend(); ++term) {
      const double x = 2 * u * term->weight;
      const double y = 1 - x;
      point += term->weight * term->df / y;
      exponent += term->df * (square(x) / y + log1p_minus(-x));
    }
    return base::exp(-exponent / 2);
  }

  /// A point beyond which the tail, on the side given by the sign of `u`, is below `accuracy`; updates `u`.
  double cutoff(double accuracy, double& u) const {
    const double bound = 2 * (u > 0 ? largest_ : smallest_);
    const auto inside = [bound](double v) { return v / (1 + v * bound); };
    double near = 0;
    double near_point = mean_;
    double far = u;
    double far_point = 0;
    while (tail_bound(inside(far), far_point) > accuracy && may_go_on()) {
      near = far;
      near_point = far_point;
      far *= 2;
    }
    while ((near_point - mean_) / (far_point - mean_) < 0.9 && may_go_on()) {
      const double middle = (near + far) / 2;
      double point = 0;
      if (tail_bound(inside(middle), point) > accuracy) {
        near = middle;
        near_point = point;
      } else {
        far = middle;
        far_point = point;
      }
    }
    u = far;
    return far_point;
  }

  /// Bound of the truncation error of the integral at u.
  double truncation_error(double u, double tau) const {
    ++bounds_;
    const double gauss = (variance_ + tau) * square(u);
    double small = 2 * gauss;
    double large = 0;
    double large_plus = 0;
    double large_df = 0;
    for (const ChiSquaredTerm& term : terms_) {
      const double x = square(2 * u * term.weight);
      if (x > 1) {
        large += term.df * base::log(x);
        large_plus += term.df * base::log1p(x);
        large_df += term.df;
      } else {
        small += term.df * base::log1p(x);
      }
    }
    const double p = base::exp(-(small + large) / 4) / pi;
    const double q = base::exp(-(small + large_plus) / 4) / pi;
    const double first = large_df == 0 ? 1 : 2 * p / large_df;
    const double second = small + large_plus > 1 ? 2.5 * q : 1;
    const double third = gauss / 2 <= q ? 1 : q / (gauss / 2);
    return std::min({first, second, third});
  }

  /// Sets `u` to the least with an acceptable truncation error, to within a factor of 1.1 to 1.2.
  void shrink_truncation(double& u, double accuracy) const {
    double trial = u / 4;
    if (truncation_error(trial, 0) > accuracy) {
      while (truncation_error(u, 0) > accuracy && may_go_on()) u *= 4;
    } else {
      u = trial;
      for (trial /= 4; truncation_error(trial, 0) <= accuracy && may_go_on(); trial /= 4) u = trial;
    }
    for (const double divisor : {2.0, 1.4, 1.2, 1.1}) {
      if (truncation_error(u / divisor, 0) <= accuracy) u /= divisor;
    }
  }

  /// Error of a convergence factor exp(-tau u^2 / 2) at x, in units of tau; empty if it is unbounded.
  std::optional<double> convergence_error(double x) const {
    const double log2_eighth = std::numbers::ln2 / 8;
    const double sign = x > 0 ? 1 : -1;
    double distance = std::abs(x);
    double doublings = 0;
    for (std::size_t j = by_size_.size(); j-- > 0;) {
      const ChiSquaredTerm& term = terms_[by_size_[j]];
      if (term.weight * sign <= 0) continue;
      const double weight = std::abs(term.weight);
      const double less = distance - weight * term.df;
      const double least = weight / log2_eighth;
      if (less > least) {
        distance = less;
        continue;
      }
      distance = std::min(distance, least);
      doublings = (distance - less) / weight;
      for (std::size_t k = 0; k < j; ++k) doublings += terms_[by_size_[k]].df;
      break;
    }
    if (doublings > 100) return std::nullopt;
    return base::exp(doublings * (std::numbers::ln2 / 4)) / (pi * square(distance));
  }

  /// Adds the integral by the midpoint rule with `count` + 1 points. If `main` is false, adds only the part
  /// that the convergence factor removed.
  void integrate(int count, double interval, double tau, bool main) {
    for (int k = count; k >= 0; --k) {
      const double u = (k + 0.5) * interval;
      double angle = -2 * u * x_;
      double exponent = -0.5 * variance_ * square(u);
      for (auto term = terms_.rbegin(); term != terms_.rend(); ++term) {
        const double x = 2 * term->weight * u;
        exponent -= 0.25 * term->df * base::log1p(square(x));
        angle += term->df * base::atan(x);
      }
      double height = interval / pi * base::exp(exponent) / u;
      if (!main) height *= 1 - base::exp(-0.5 * tau * square(u));
      integral_ += base::sin(angle / 2) * height;
    }
  }

  double x_;
  std::span<const ChiSquaredTerm> terms_;
  std::vector<std::size_t> by_size_;
  double mean_ = 0;
  double deviation_ = 0;
  double largest_ = 0;
  double smallest_ = 0;
  double variance_ = 0;  ///< variance of a normal term that acts as all convergence factors together
  double integral_ = 0;
  mutable int bounds_ = 0;  ///< number of bounds evaluated so far
};

/// Tail of the noncentral chi-squared variable that best matches the first four cumulants.
double liu_tail(double x, std::span<const ChiSquaredTerm> terms) {
  double c[4] = {0, 0, 0, 0};
  for (const ChiSquaredTerm& term : terms) {
    double power = term.df;
    for (double& cumulant : c) cumulant += power *= term.weight;
  }
  if (x <= 0 || c[1] <= 0 || c[2] == 0) return 1;
  const double s1 = c[2] / (c[1] * std::sqrt(c[1]));
  const double s2 = c[3] / square(c[1]);
  double a = 1 / s1;
  double noncentrality = 0;
  double df = square(c[1]) * c[1] / square(c[2]);
  if (square(s1) > s2) {
    a = 1 / (s1 - std::sqrt(square(s1) - s2));
    noncentrality = s1 * a * a * a - a * a;
    df = a * a - 2 * noncentrality;
  }
  const double standardised = (x - c[0]) / std::sqrt(2 * c[1]);
  return chi_squared_tail(standardised * std::numbers::sqrt2 * a + df + noncentrality, df, noncentrality);
}

}  // namespace

double weighted_chi_squared_tail(double x, std::span<const ChiSquaredTerm> terms) {
  if (std::all_of(terms.begin(), terms.end(), [](const ChiSquaredTerm& t) { return t.weight == 0; })) {
    throw std::logic_error("weighted_chi_squared_tail: every weight is zero");
  }
  const auto probability = Davies(x, terms).probability();
  if (!probability) return liu_tail(x, terms);
  return std::clamp(1 - *probability, 0.0, 1.0);
}

}  // namespace TESSERA_NAMESPACE::gam
