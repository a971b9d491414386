// SPDX-License-Identifier: Apache-2.0
#include "gam/many/saturated_counts.hpp"

#include "base/at.hpp"
#include "base/math/elementary.hpp"
#include "base/math/lanes.hpp"
#include "gam/family/polygamma.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace TESSERA_NAMESPACE::gam {

using base::lane_count;
using base::Lanes;
using base::load_lanes;

namespace {

/// From this count on, three terms of Stirling's series are exact to rounding.
constexpr int least_large = 64;
/// Larger counts are stored one by one instead of by a table of counts.
constexpr int most_by_count = 1023;

/// Log likelihood of counts y < `least_large`, less `poisson_of`(y). With l = log(1 + y/theta):
///
/// sum_{j < y} log(1 + j/theta) - (y + theta) l + y
TESSERA_LANE_CLONES SaturatedCounts::Value sum_of_small(const double* small, const double* above,
                                                        double theta) {
  Lanes sum{};
  Lanes slope{};
  Lanes curvature{};
  Lanes j = {0, 1, 2, 3, 4, 5, 6, 7};
  for (int i = 0; i < least_large; i += lane_count) {
    const Lanes log1p = base::log1p_lanes(j / theta);
    const Lanes share = j / (theta + j);
    const Lanes n = load_lanes(above + i);
    const Lanes own = load_lanes(small + i);
    sum += n * log1p - own * ((j + theta) * log1p - j);
    slope -= n * share + own * (theta * log1p - j);
    curvature += n * share * (theta / (theta + j)) - own * (theta * (log1p - share));
    j += lane_count;
  }
  return {base::sum_of_lanes(sum), base::sum_of_lanes(slope), base::sum_of_lanes(curvature)};
}

/// Like `sum_of_small`, plus s(theta): s(y + theta) - log(1 + y/theta)/2, with the Stirling remainder s.
TESSERA_LANE_CLONES SaturatedCounts::Value sum_of_large(const double* counts, const double* weights,
                                                        std::size_t size, double theta) {
  Lanes sum{};
  Lanes slope{};
  Lanes curvature{};
  for (std::size_t i = 0; i < size; i += lane_count) {
    const Lanes y = load_lanes(counts + i);
    const Lanes weight = load_lanes(weights + i);
    const Lanes inverse = 1.0 / (y + theta);
    const Lanes square = inverse * inverse;
    // `rest`, `first`, `second`: s(x), x s'(x) and x^2 s''(x) at x = y + theta.
    const Lanes rest = inverse * (1.0 / 12 - square * (1.0 / 360 - square / 1260.0));
    const Lanes first = -inverse * (1.0 / 12 - square * (1.0 / 120 - square / 252.0));
    const Lanes second = inverse * (1.0 / 6 - square * (1.0 / 30 - square / 42.0));
    const Lanes of_theta = theta * inverse;
    const Lanes of_y = y * inverse;
    sum += weight * (rest - base::log1p_lanes(y / theta) * 0.5);
    slope += weight * (of_theta * first + of_y * 0.5);
    curvature += weight * (of_theta * (first - of_y * 0.5) + of_theta * of_theta * second);
  }
  return {base::sum_of_lanes(sum), base::sum_of_lanes(slope), base::sum_of_lanes(curvature)};
}

/// Log likelihood of a Poisson count y > 0 at mean y.
double poisson_of(double y) {
  return -0.5 * base::log(2 * M_PI * y) - stirling_rest(y).value;
}

}  // namespace

void SaturatedCounts::clear() noexcept {
  of_count_.clear();
  others_.clear();
}

void SaturatedCounts::add(double count, double weight) {
  if (count > most_by_count) {
    others_.emplace_back(count, weight);
    return;
  }
  const auto place = static_cast<std::size_t>(count);
  if (of_count_.size() <= place) of_count_.resize(place + 1);
  of_count_[place] += weight;
}

void SaturatedCounts::finish() {
  static const auto poisson_of_small = [] {
    std::array<double, least_large> values{};
    for (int y = 1; y < least_large; ++y) values[base::at(y)] = poisson_of(y);
    return values;
  }();
  small_.assign(of_count_.begin(),
                of_count_.begin() + std::min<std::ptrdiff_t>(std::ssize(of_count_), least_large));
  small_.resize(least_large);
  above_.assign(least_large, 0);
  for (std::size_t j = least_large; j-- > 1;) above_[j - 1] = above_[j] + small_[j];
  large_.clear();
  large_weights_.clear();
  for (std::size_t y = least_large; y < of_count_.size(); ++y) {
    if (of_count_[y] == 0) continue;
    large_.push_back(static_cast<double>(y));
    large_weights_.push_back(of_count_[y]);
  }
  std::ranges::sort(others_);
  for (const auto& [count, weight] : others_) {
    if (large_.empty() || large_.back() != count) {
      large_.push_back(count);
      large_weights_.push_back(0);
    }
    large_weights_.back() += weight;
  }
  poisson_ = 0;
  for (std::size_t y = 1; y < small_.size(); ++y) poisson_ += small_[y] * poisson_of_small[y];
  weight_of_large_ = 0;
  for (std::size_t i = 0; i < large_.size(); ++i) {
    poisson_ += large_weights_[i] * poisson_of(large_[i]);
    weight_of_large_ += large_weights_[i];
  }
  const std::size_t packed = (large_.size() + lane_count - 1) / lane_count * lane_count;
  large_.resize(packed, 1);
  large_weights_.resize(packed);
}

SaturatedCounts::Value SaturatedCounts::at(double theta) const {
  Value value = sum_of_small(small_.data(), above_.data(), theta);
  value.sum += poisson_;
  if (large_.empty()) return value;
  const Value large = sum_of_large(large_.data(), large_weights_.data(), large_.size(), theta);
  const StirlingRest of_theta = stirling_rest(theta);
  value.sum += large.sum - weight_of_large_ * of_theta.value;
  value.slope += large.slope + weight_of_large_ * theta * of_theta.first;
  value.curvature += large.curvature + weight_of_large_ * theta * (of_theta.first - theta * of_theta.second);
  return value;
}

}  // namespace TESSERA_NAMESPACE::gam
