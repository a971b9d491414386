// SPDX-License-Identifier: Apache-2.0
#include "gam/many/count_tail.hpp"

#include "base/math/lanes.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace TESSERA_NAMESPACE::gam {

using base::lane_count;
using base::Lanes;
using base::load_lanes;

namespace {

/// From this value on, three terms of Stirling's series have full precision.
constexpr double most_terms = 1024;

/// log Gamma(x) without its constant; x times its derivative; x^2 times its second derivative.
struct LogGamma {
  double value;
  double slope;
  double curvature;
};
LogGamma stirling(double x) {
  const double inverse = 1 / x;
  const double square = inverse * inverse;
  return {(x - 0.5) * std::log(x) - x + inverse * (1.0 / 12 - square * (1.0 / 360 - square / 1260)),
          x * std::log(x) - 0.5 - inverse * (1.0 / 12 - square * (1.0 / 120 - square / 252)),
          x + 0.5 + inverse * (1.0 / 6 - square * (1.0 / 30 - square / 42))};
}

TESSERA_LANE_CLONES CountTail::Value sums_of(const double* above, std::size_t count, double theta) {
  Lanes sum{};
  Lanes slope{};
  Lanes curvature{};
  Lanes j = {0, 1, 2, 3, 4, 5, 6, 7};
  for (std::size_t i = 0; i < count; i += lane_count) {
    const Lanes n = load_lanes(above + i);
    sum += n * base::log1p_lanes(j / theta);
    const Lanes share = j / (theta + j);
    slope += n * share;
    curvature += n * share * (theta / (theta + j));
    j += lane_count;
  }
  return {base::sum_of_lanes(sum), -base::sum_of_lanes(slope), base::sum_of_lanes(curvature)};
}

}  // namespace

void CountTail::clear() noexcept {
  of_count_.clear();
  large_.clear();
}

void CountTail::add(double count, double weight) {
  if (!(count >= 1)) return;
  if (count > most_terms) {
    large_.emplace_back(count, weight);
    return;
  }
  const auto last = static_cast<std::size_t>(count) - 1;
  if (of_count_.size() <= last) of_count_.resize((last / lane_count + 1) * lane_count);
  of_count_[last] += weight;
}

void CountTail::finish() {
  if (!large_.empty()) of_count_.resize(static_cast<std::size_t>(most_terms));
  above_ = of_count_;
  for (const auto& one : large_) above_.back() += one.second;
  for (std::size_t j = above_.size(); j-- > 1;) above_[j - 1] += above_[j];
  // Equal counts are combined.
  std::ranges::sort(large_);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < large_.size(); ++i) {
    if (kept > 0 && large_[kept - 1].first == large_[i].first)
      large_[kept - 1].second += large_[i].second;
    else
      large_[kept++] = large_[i];
  }
  large_.resize(kept);
}

CountTail::Value CountTail::at(double theta) const {
  Value value = sums_of(above_.data(), above_.size(), theta);
  if (large_.empty()) return value;
  const LogGamma first = stirling(theta + most_terms);
  for (const auto& [count, weight] : large_) {
    const double terms = count - most_terms;
    const LogGamma last = stirling(theta + count);
    const double digamma_terms = theta * (last.slope / (theta + count) - first.slope / (theta + most_terms));
    value.sum += weight * (last.value - first.value - terms * std::log(theta));
    value.slope += weight * (digamma_terms - terms);
    value.curvature +=
        weight * (digamma_terms + theta * theta *
                                      (last.curvature / ((theta + count) * (theta + count)) -
                                       first.curvature / ((theta + most_terms) * (theta + most_terms))));
  }
  return value;
}

}  // namespace TESSERA_NAMESPACE::gam
