// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <span>
#include <vector>

/// Sampled rows in groups, of which single ones tell little.
namespace TESSERA_NAMESPACE::gam {

/// Groups of rows by increasing keys, of about equal size, with equal keys in one group; one group per key if
/// there are few. About the square root of the number of rows, limited to a readable number. At least one
/// row.
[[nodiscard]] std::vector<std::vector<std::size_t>> groups_by(std::span<const double> keys);

/// Means in groups of similar x.
struct GroupMeans {
  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> rows;  ///< number of rows
};
[[nodiscard]] GroupMeans group_means(std::span<const double> x, std::span<const double> y);

}  // namespace TESSERA_NAMESPACE::gam
