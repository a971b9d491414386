// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/algebra.hpp"
#include "gam/linalg/parted_matrix.hpp"

#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// F = A^-1 X'WX with A = X'WX + S; its trace is the trace of the hat matrix. The diagonals of F and FF give
/// degrees of freedom. Only the core of F and its diagonal in the part (the eliminated effects, see
/// `PartedMatrix`) are computed. If the part has a sparsity pattern, the diagonal of FF in the part is NaN.
struct Influence {
  Matrix core;                      ///< of F
  Matrix through_part;              ///< Z: the core of FF is F F + Z (I - F) of the core; empty: zero
  std::vector<double> part;         ///< diagonal of F in the part
  std::vector<double> part_square;  ///< diagonal of FF in the part

  /// The diagonals of F and of 2F - FF, for all coefficients.
  [[nodiscard]] std::vector<double> edf(const Part& place) const;
  [[nodiscard]] std::vector<double> edf1(const Part& place) const;
};

/// `inverse` is A^-1, and `ridges` the diagonal of S in the part. Cost: O(q^3) for a core of q coefficients,
/// less if X'WX is sparse, and O(q^2) for each coefficient of the part that shares rows with the whole core.
[[nodiscard]] Influence influence(const PartedMatrix& inverse, const PartedMatrix& gram,
                                  std::span<const double> ridges, const Algebra& algebra);

}  // namespace TESSERA_NAMESPACE::gam
