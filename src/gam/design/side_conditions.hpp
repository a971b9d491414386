// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"

#include <tessera/gam/matrix.hpp>

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
namespace TESSERA_NAMESPACE::gam {

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
  Matrix sketch;                      ///< of X (rows/row_sketch.hpp); or X itself
  std::vector<double> sketched_ones;  ///< of the constant, in the same sketch
};

/// Of a model with more coefficients than rows, which rows alone cannot tell apart: the columns of each
/// smooth go on with a root of its penalties, each brought to the size of the columns, as in mgcv's
/// `augment.smX` (there by the mean size of their elements, here by the mean square). Pure.
[[nodiscard]] ColumnSums with_penalties(ColumnSums columns, const Design& design);

/// The columns of each block that the smooths before it explain, ascending. Of columns that depend on one
/// another those remain that are explained least when they are taken one by one.
///
/// The rule is that of `fixDependence` in mgcv: in a QR with column pivoting of what the smooths before leave
/// of a smooth's columns, the last ones are dependent while the mean size of the elements of the square that
/// they form is below 1.5e-8 of the largest column before. The QR is that of the sketch, which has all digits
/// of X and every row in it. Only the order of columns comes from X'X, where that has the digits to tell.
/// With `constant` a column of ones is before every smooth that is compared with another. Pure. Throws
/// `Error(input)` if nothing is left of a smooth.
[[nodiscard]] std::vector<std::vector<int>> dependent_columns(const Design& design,
                                                              std::span<const NestedSmooth> nested,
                                                              const ColumnSums& columns, bool constant);

/// The design without some columns of each block (an empty list: with all), its coefficients counted and
/// named anew. A penalty of which nothing is left is left out. Pure.
[[nodiscard]] Design without_columns(Design design, const std::vector<std::vector<int>>& dropped);

}  // namespace TESSERA_NAMESPACE::gam
