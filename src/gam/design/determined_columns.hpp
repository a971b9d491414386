// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/linalg/algebra.hpp"
#include "gam/linalg/parted_matrix.hpp"

#include <tessera/gam/matrix.hpp>

#include <span>
#include <string>
#include <vector>

/// Unpenalised columns that are linear combinations of others (a cell without rows, a factor nested in
/// another, s(x, by = f) next to s(x)). One column of each such dependence is dropped.
namespace TESSERA_NAMESPACE::gam {

struct DeterminedColumn {
  int block = 0;                    ///< index in `Design::blocks`
  int column = -1;                  ///< index within a parametric block; -1: a function of a smooth
  bool zero = false;                ///< whether the column is zero in every row of nonzero weight
  bool doubtful = false;            ///< whether the residual may be a rounding error of X'WX
  std::vector<double> combination;  ///< coefficients b with X b = 0 and zero penalty

  void members(const auto& to) { to(block, column, zero, doubtful, combination); }
};

/// Projects column `pivot` out of all columns, given their crossproduct: one step of elimination.
void project_out(Matrix& gram, int pivot);

/// Selects unpenalised columns one by one: the next one has the largest residual given the columns selected
/// so far and all penalised columns, in the metric of X'WX plus penalties of unit size. A column is
/// determined if its squared residual is below 1e-13 of its squared norm, and doubtful below 1e-11: in
/// columns of few distinct values, rounding errors of the sums accumulate. The intercept is selected first,
/// then the other parametric columns, so that a smooth loses the functions that are also parametric columns.
/// Columns of terms that several linear predictors share come last. Pure. Cost: O(M_p^3) for M_p unpenalised
/// columns, and a factorisation of X'WX if some are determined.
[[nodiscard]] std::vector<DeterminedColumn> determined_columns(const PartedMatrix& raw_gram,
                                                               const Design& design, const Algebra& algebra);

/// Name of a dropped column for messages: a parametric column's name, or a smooth's label.
[[nodiscard]] std::string name_of(const DeterminedColumn& column, const Design& design);
/// Names of the other columns and smooths in the combination, separated by commas; may be empty.
[[nodiscard]] std::string determined_by(const DeterminedColumn& column, const Design& design);

/// Removes these columns. Drops the coefficient of a parametric column. Constrains a smooth's coefficients to
/// be orthogonal to its part of each combination. Fills in `Design::left_out`. Pure.
[[nodiscard]] Design without_determined(Design design, std::span<const DeterminedColumn> columns);

}  // namespace TESSERA_NAMESPACE::gam
