// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"

#include <tessera/gam/matrix.hpp>

#include <cstdint>
#include <span>
#include <vector>

/// Side conditions of nested smooths: a model with te(x, z) and s(x) contains every function of x twice. The
/// smooth of more variables loses the columns that depend on earlier smooths, as in mgcv's gam, so that s(x)
/// is the main effect and te(x, z) the remainder:
///
///     const auto nested = nested_smooths(design);          // most models: none, and nothing more is done
///     const auto dropped = dependent_columns(design, nested, sums_of_the_columns, has_constant(design));
///     design = without_columns(std::move(design), dropped);
///
/// Source: ?gam.side of mgcv; Wood, Generalized Additive Models (2nd ed., 2017), sec. 5.6.3.
namespace TESSERA_NAMESPACE::gam {

/// A smooth, and the earlier smooths that it may contain.
struct NestedSmooth {
  int block = 0;            ///< index in `Design::blocks`
  std::vector<int> before;  ///< smooths that share a variable: of fewer variables, or of as many and earlier
};

/// The nested smooths, ordered by number of variables, then by position. Variables are equal only with equal
/// by variable and level. Random effects and factor smooths are exempt: their penalties identify them. Pure.
[[nodiscard]] std::vector<NestedSmooth> nested_smooths(const Design& design);

/// True if the parametric part spans the constant: a column of ones, or one for each level or cell.
[[nodiscard]] bool has_constant(const Design& design);

/// Sums over the complete rows of the columns of X, by coefficient.
struct ColumnSums {
  Matrix gram;               ///< X'X
  std::vector<double> sums;  ///< X'1
  std::int64_t rows = 0;
  Matrix sketch;                      ///< sketch of X (rows/row_sketch.hpp); or X itself
  std::vector<double> sketched_ones;  ///< the constant in the same sketch
};

/// For a model with more coefficients than rows, which the rows alone do not identify. Appends a root of the
/// penalties to the columns of each smooth, scaled to the size of the columns, as in mgcv's `augment.smX`.
/// The size is the mean square of the elements; in mgcv, their mean absolute value. Pure.
[[nodiscard]] ColumnSums with_penalties(ColumnSums columns, const Design& design);

/// For each block, the columns that depend on earlier smooths, ascending. Of mutually dependent columns,
/// those with the largest residuals stay.
///
/// The rule is that of `fixDependence` in mgcv: in a QR with column pivoting of a smooth's columns, after
/// projecting out the earlier smooths, the last columns are dependent as long as the mean size of the
/// elements of their trailing square is below 1.5e-8 of the largest earlier column. The QR uses the sketch,
/// which contains every row with all digits of X. Only the order of columns comes from X'X, if X'X is
/// accurate enough. With `constant`, a column of ones precedes every smooth. Pure. Throws `Error(input)` if a
/// smooth loses all columns.
[[nodiscard]] std::vector<std::vector<int>> dependent_columns(const Design& design,
                                                              std::span<const NestedSmooth> nested,
                                                              const ColumnSums& columns, bool constant);

/// Removes the columns `dropped` of each block, and penalties that become zero. Renumbers and renames the
/// coefficients. Pure.
[[nodiscard]] Design without_columns(Design design, const std::vector<std::vector<int>>& dropped);

}  // namespace TESSERA_NAMESPACE::gam
