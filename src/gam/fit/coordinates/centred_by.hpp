// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/design/standardise.hpp"
#include "gam/linalg/parted_matrix.hpp"
#include "gam/reml/reml.hpp"

#include <optional>
#include <span>
#include <vector>

/// Smooths by a number that is far from zero. Of s(x, by = z) with z = 5.5e6 +- 1000 the functions z and z x,
/// which no penalty sees, are the intercept's column and that of x but for a thousandth, and a crossproduct
/// of them has lost the digits that tell them apart. Where the other terms have the function q of x without a
/// penalty, z q is replaced by u q, u the centred number: the model is the same, and what is penalised is not
/// touched.
namespace tessera::gam {

/// Such a design, and its way to the design that it was made from.
struct CentredBy {
  Design design;
  /// T: coefficients of the design before, by coefficients of this one, but for those of the parted random
  /// effect, which are the same. On what penalties see T is orthogonal.
  Matrix to_formula;
  double log_determinant = 0;  ///< log|det T|
  Part centred_part;           ///< the parted effect in this design,
  Part formula_part;           ///< and in the one before

  [[nodiscard]] std::vector<double> coefficients_of_formula(std::span<const double> coef) const;

  /// Turns a solution and its X'WX, both in coefficients of `design`. The edf of a term stays, as T mixes
  /// unpenalised functions alone. Cost: O(p^3).
  void turn(RemlFit& fit, PartedMatrix& gram) const;
};

/// The centred design, with an unpenalised block at its end for each smooth that lost functions to it;
/// nothing where no number that a smooth is by is far from zero, in its standard deviations, or no function
/// of it is among the other terms'. `design` has all its constraints. Pure.
[[nodiscard]] std::optional<CentredBy> centre_by(const Design& design, const Standards& standards);

}  // namespace tessera::gam
