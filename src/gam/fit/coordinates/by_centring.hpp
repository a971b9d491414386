// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/design/standardise.hpp"
#include "gam/linalg/parted_matrix.hpp"
#include "gam/reml/reml.hpp"

#include <optional>
#include <span>
#include <vector>

/// Centring of by= variables. If abs(mean(z)) >> sd(z), the unpenalised columns z and z·x of s(x, by = z) are
/// nearly collinear with 1 and x, and their crossproduct loses the digits that distinguish them. If the other
/// terms contain the unpenalised function q of x, z q is replaced by u q, with u the centred z: the model
/// space and the penalties are unchanged.
namespace TESSERA_NAMESPACE::gam {

/// A centred design, and the transformation back to the original one.
struct ByCentring {
  Design design;
  /// T: coefficients of the original design x coefficients of this one, except those of the parted random
  /// effect, which stay the same. T is orthogonal on the penalised coefficients.
  Matrix to_formula;
  double log_determinant = 0;  ///< log|det T|
  Part centred_part;           ///< the part (eliminated random effects) in this design
  Part formula_part;           ///< the part in the original design

  [[nodiscard]] std::vector<double> coefficients_of_formula(std::span<const double> coef) const;

  /// Transforms a solution and its X'WX, both in coefficients of `design`. The edf of a term does not change,
  /// since T mixes only unpenalised functions. Cost: O(p^3).
  void transform_solution(RemlFit& fit, PartedMatrix& gram) const;
};

/// The centred design, with an unpenalised block at its end for each smooth from which functions were moved;
/// empty if no by= variable has abs(mean) >> sd, or no such function is in the span of the other terms.
/// `design` has all its constraints. Pure.
[[nodiscard]] std::optional<ByCentring> centre_by_variables(const Design& design, const Standards& standards);

}  // namespace TESSERA_NAMESPACE::gam
