// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <span>
#include <vector>

/// Groups of sampled rows, for plots in which single rows are uninformative.
namespace TESSERA_NAMESPACE::gam {

/// Groups of rows by increasing keys, of about equal size; rows with equal keys are in one group, and few
/// different keys have a group each. There are about as many groups as the square root of the number of rows,
/// up to a readable number.
[[nodiscard]] std::vector<std::vector<std::size_t>> groups_by(std::span<const double> keys);

/// Means in groups of similar x.
struct GroupMeans {
  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> rows;  ///< number of rows
};
[[nodiscard]] GroupMeans group_means(std::span<const double> x, std::span<const double> y);

}  // namespace TESSERA_NAMESPACE::gam
