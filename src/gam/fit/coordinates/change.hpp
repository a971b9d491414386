// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/linalg/parted_matrix.hpp"
#include "gam/reml/working_model.hpp"

#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// An invertible change of basis T from the coefficients of a fit to the coefficients of the formula's
/// design. The part (the eliminated random effects) keeps its values, but may change its position.
struct Change {
  /// A square matrix that multiplies the core's coefficients from `begin` on.
  struct Block {
    int begin = 0;
    Matrix to_formula;
  };
  std::vector<Block> blocks;
  Part part;                   ///< in the coefficients of the fit
  Part formula_part;           ///< in the coefficients of the formula
  double log_determinant = 0;  ///< log|det T|

  [[nodiscard]] std::vector<double> coefficients_of_formula(std::span<const double> coef) const;
  /// Cost: O(p^2 k) for a block of k coefficients.
  void transform_covariance(PartedMatrix& covariance) const;
  /// Transforms the upper triangular R of X'WX = R'R. Only for models without a part.
  [[nodiscard]] Matrix triangle_of_formula(Matrix triangle) const;
  /// Transforms a solution and its X'WX. Cost: O(p^3).
  void transform_solution(RemlFit& fit, PartedMatrix& gram) const;
};

/// A design in other coefficients than the formula's, and the change to the formula's coefficients.
struct ChangedDesign {
  Design design;
  Change change;
  /// Whether the design has the formula's blocks, so that tests of its terms are tests of the formula's.
  bool same_blocks = false;
};

}  // namespace TESSERA_NAMESPACE::gam
