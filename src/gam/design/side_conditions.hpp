// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/linalg/matrix.hpp"

#include <cstdint>
#include <span>
#include <vector>

/// Side conditions of nested smooths: te(x, z) beside s(x) holds every function of x twice. The smooth of
/// more variables loses the columns that the smooths before it explain, as in mgcv's gam, so that s(x) is the
/// main effect and te(x, z) what is left:
///
///     const auto nested = nested_smooths(design);          // most models: none, and nothing more is done
///     const auto dropped = dependent_columns(design, nested, sums_of_the_columns, has_constant(design));
///     design = without_columns(std::move(design), dropped);
///
/// Source: the conditions are those that mgcv documents in ?gam.side: Wood, Generalized Additive Models (2nd
/// ed., 2017), sec. 5.6.3.
namespace tessera::gam {

/// A smooth, and those whose functions it may hold.
struct NestedSmooth {
  int block = 0;            ///< place in `Design::blocks`
  std::vector<int> before;  ///< with a variable of it: of fewer variables, or of as many and before it
};

/// The smooths to be compared, in the order in which that is done: by their number of variables, then by
/// their place. Variables are the same if they have the same by variable and level too. Random effects have
/// no part in it, as their penalty tells them from all else. Pure.
[[nodiscard]] std::vector<NestedSmooth> nested_smooths(const Design& design);

/// True if the constant is in the span of the parametric part: a column of ones, or one for each level or
/// cell.
[[nodiscard]] bool has_constant(const Design& design);

/// What is known of the columns of X, in coefficients, over the complete rows.
struct ColumnSums {
  Matrix gram;               ///< X'X
  std::vector<double> sums;  ///< X'1
  std::int64_t rows = 0;
  Matrix sample;  ///< X of some rows that are spread evenly: all rows, or a few thousand
};

/// The columns of each block that the smooths before it explain, ascending. Of columns that depend on one
/// another those remain that are explained least when they are taken one by one.
///
/// X'X gives the order in which columns are taken as a QR with column pivoting of all rows would: it has half
/// the digits of X, so that what it finds to be explained is looked at again in the sample, by a QR that has
/// them all. There a column is dependent if it is explained but for 1.5e-8 of the largest column before it.
/// With `constant` a column of ones is before every smooth that is compared with another. Pure. Throws
/// `Error(input)` if nothing is left of a smooth.
[[nodiscard]] std::vector<std::vector<int>> dependent_columns(const Design& design,
                                                              std::span<const NestedSmooth> nested,
                                                              const ColumnSums& columns, bool constant);

/// The design without some columns of each block (an empty list: with all), its coefficients counted and
/// named anew. A penalty of which nothing is left is left out. Pure.
[[nodiscard]] Design without_columns(Design design, const std::vector<std::vector<int>>& dropped);

}  // namespace tessera::gam
