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

/// An unpenalised column that is a combination of others.
struct DeterminedColumn {
  int block = 0;                    ///< index in `Design::blocks`
  int column = -1;                  ///< index within a parametric block; -1: a function of a smooth
  bool zero = false;                ///< whether the column is zero in every row of nonzero weight
  bool doubtful = false;            ///< whether it is unclear if the residual is rounding of X'WX
  std::vector<double> combination;  ///< coefficients b with X b = 0 and without a penalty

  void members(const auto& to) { to(block, column, zero, doubtful, combination); }
};

/// Projects a column out of the others, in their crossproduct: one step of its elimination.
void project_out(Matrix& gram, int pivot);

/// Selects unpenalised columns one by one: the one with the largest residual given earlier ones and all
/// penalised columns, in the metric of X'WX plus the penalties, each of unit size. A column is determined if
/// its residual is below 1e-13 of its squared norm, and doubtful below 1e-11: in columns of few distinct
/// values, roundings of the sums accumulate in one direction. The intercept is selected first, then the other
/// parametric columns, so that a smooth loses what is also a parametric column; columns of terms that linear
/// predictors share come last. Pure. Cost: O(M_p^3) for M_p unpenalised columns; a factorisation of X'WX if
/// some are determined.
[[nodiscard]] std::vector<DeterminedColumn> determined_columns(const PartedMatrix& raw_gram,
                                                               const Design& design, const Algebra& algebra);

/// Name of a dropped column for people: a parametric column's name, or a smooth's label.
[[nodiscard]] std::string name_of(const DeterminedColumn& column, const Design& design);
/// The other columns and smooths in the combination, listed; empty if there are none.
[[nodiscard]] std::string determined_by(const DeterminedColumn& column, const Design& design);

/// Removes these columns: drops the coefficient of a parametric column, and constrains a smooth's
/// coefficients to be orthogonal to their part of the combination. Fills in `Design::left_out`. Pure.
[[nodiscard]] Design without_determined(Design design, std::span<const DeterminedColumn> columns);

}  // namespace TESSERA_NAMESPACE::gam
