// SPDX-License-Identifier: Apache-2.0
#include "gam/report/groups.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace TESSERA_NAMESPACE::gam {

std::vector<std::vector<std::size_t>> groups_by(std::span<const double> keys) {
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t row) { return keys[row]; });
  const auto count =
      static_cast<std::size_t>(std::clamp(std::sqrt(static_cast<double>(keys.size())), 1.0, 40.0));
  const auto begins = [&](std::size_t i) { return i == 0 || keys[order[i]] != keys[order[i - 1]]; };
  std::size_t different = 0;
  for (std::size_t i = 0; i < order.size(); ++i) different += begins(i) ? 1 : 0;
  std::vector<std::vector<std::size_t>> groups;
  std::size_t part = 0;  // quantile bin in which the last group began
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t own = i * count / order.size();
    if (i == 0 || (begins(i) && (different <= count || own != part))) {
      groups.emplace_back();
      part = own;
    }
    groups.back().push_back(order[i]);
  }
  return groups;
}

GroupMeans group_means(std::span<const double> x, std::span<const double> y) {
  GroupMeans means;
  if (x.empty()) return means;
  for (const auto& group : groups_by(x)) {
    const auto size = static_cast<double>(group.size());
    const auto mean = [&](std::span<const double> values) {
      double sum = 0;
      for (const std::size_t i : group) sum += values[i];
      return sum / size;
    };
    means.x.push_back(mean(x));
    means.y.push_back(mean(y));
    means.rows.push_back(size);
  }
  return means;
}

}  // namespace TESSERA_NAMESPACE::gam
