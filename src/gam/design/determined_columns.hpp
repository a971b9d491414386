// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/linalg/algebra.hpp"
#include "gam/linalg/parted_matrix.hpp"

#include <span>
#include <string>
#include <vector>

/// Columns that no penalty touches and that others determine: of a cell that has no rows, of a factor within
/// another, of s(x, by = f) beside s(x). Their coefficients cannot be told apart, and one has to go.
namespace TESSERA_NAMESPACE::gam {

/// An unpenalised column that the others determine.
struct DeterminedColumn {
  int block = 0;                    ///< place in `Design::blocks`
  int column = -1;                  ///< of the block, if that is parametric
  bool zero = false;                ///< no row has it: it is zero wherever a weight is not
  bool doubtful = false;            ///< what is left may be rounding of the sums of X'WX, or more
  std::vector<double> combination;  ///< in coefficients: X combination = 0, and no penalty sees it

  /// For its broadcast.
  void members(const auto& to) { to(block, column, zero, doubtful, combination); }
};

/// Takes the unpenalised columns one by one, the one next of which the most is left by those before it and by
/// all penalised ones, in the metric of X'WX and the penalties, each of unit size; a column is determined if
/// those before it explain all but 1e-13 of its square, and doubtful if all but 1e-11: where a column has few
/// values, the roundings of its sums go in one direction. The intercept is taken first, then the other
/// parametric columns, so that a smooth loses what a parametric column has. Pure. Cost: O(M_p^3), M_p
/// unpenalised columns; where there are determined ones, that of a factorisation of X'WX.
[[nodiscard]] std::vector<DeterminedColumn> determined_columns(const PartedMatrix& raw_gram,
                                                               const Design& design, const Algebra& algebra);

/// What is left out, for people: a column's name, or a smooth's label.
[[nodiscard]] std::string name_of(const DeterminedColumn& column, const Design& design);
/// The other columns and smooths that have a part in the combination, as a list; empty if it has none.
[[nodiscard]] std::string determined_by(const DeterminedColumn& column, const Design& design);

/// The design without these columns: a parametric one's coefficient goes, and the coefficients of a smooth
/// are held orthogonal to their part of the combination. Fills in `Design::left_out`. Pure.
[[nodiscard]] Design without_determined(Design design, std::span<const DeterminedColumn> columns);

}  // namespace TESSERA_NAMESPACE::gam
