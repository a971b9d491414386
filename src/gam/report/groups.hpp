// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <span>
#include <vector>

/// Groups of sampled rows, for plots in which single rows would show little.
namespace TESSERA_NAMESPACE::gam {

/// Groups of rows by increasing keys, of about equal size. Rows with equal keys are in one group; if there
/// are few different keys, each has its own group. The number of groups is about the square root of the
/// number of rows, up to a readable limit.
[[nodiscard]] std::vector<std::vector<std::size_t>> groups_by(std::span<const double> keys);

/// Means of groups of rows with similar x.
struct GroupMeans {
  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> rows;  ///< number of rows in each group
};
[[nodiscard]] GroupMeans group_means(std::span<const double> x, std::span<const double> y);

}  // namespace TESSERA_NAMESPACE::gam
