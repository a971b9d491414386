// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The columns of ns() and bs() of R's package splines, as combinations of B-splines.
struct SplineColumns {
  bool natural = false;  ///< whether second derivatives are 0 at both ends (ns)
  int degree = 3;
  bool intercept = false;
  double lower = 0, upper = 1;  ///< the boundary knots
  std::vector<double> inner_knots{};

  /// Number of columns without interior knots.
  [[nodiscard]] int least_columns() const { return (natural ? 1 : degree) + (intercept ? 1 : 0); }
  /// The `table` of column `part`, from 1, for `Expression::Op::spline`. Source: Chambers and Hastie,
  /// Statistical Models in S (1992), sec. 7.6; ns() and bs() of R.
  [[nodiscard]] std::vector<double> table(int part) const;
};

}  // namespace TESSERA_NAMESPACE::gam
