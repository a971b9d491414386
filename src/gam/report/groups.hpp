// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <span>
#include <vector>

/// Sampled rows in groups, of which single ones tell little.
namespace TESSERA_NAMESPACE::gam {

/// Groups of rows by increasing keys, about as many rows in each, and rows of equal keys in one; one a key
/// where there are few. About the square root of their number, and no more than are told apart. At least one
/// row.
[[nodiscard]] std::vector<std::vector<std::size_t>> groups_by(std::span<const double> keys);

/// One a group of similar x.
struct GroupMeans {
  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> rows;  ///< how many there are
};
[[nodiscard]] GroupMeans group_means(std::span<const double> x, std::span<const double> y);

}  // namespace TESSERA_NAMESPACE::gam
