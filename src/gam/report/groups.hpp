// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Groups of row indices by increasing key, of about equal size. Rows with equal keys share a group. The
/// number of groups is about the square root of the number of rows, at most 40. If there are fewer distinct
/// keys, each has its own group.
[[nodiscard]] std::vector<std::vector<std::size_t>> groups_by(std::span<const double> keys);

/// Means of groups of rows with similar x.
struct GroupMeans {
  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> rows;  ///< sizes of the groups
};
[[nodiscard]] GroupMeans group_means(std::span<const double> x, std::span<const double> y);

}  // namespace TESSERA_NAMESPACE::gam
