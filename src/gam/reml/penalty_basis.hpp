// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/linalg/algebra.hpp"

#include <tessera/gam/matrix.hpp>

#include <optional>
#include <span>
#include <vector>

/// Bases in which penalties are summed without losing the small ones; log|S|+ and its derivatives. In these
/// bases each penalty is exactly zero on its null space. In the coordinates of the basis functions, with
/// lambda up to e^40, rounding errors of the sum would dominate the unpenalised directions.
namespace TESSERA_NAMESPACE::gam {

/// The penalties of one coefficient block in coordinates U^-1 b. The first `rank` coordinates are penalised;
/// the others span the null space, on which every penalty is exactly zero. U is orthogonal, unless several
/// penalties are diagonalised together (`Penalty::eigenvectors`).
struct BlockBasis {
  int begin = 0;
  int size = 0;
  int rank = 0;        ///< number of penalised coordinates
  int first_sp = 0;    ///< index of the first penalty among those of all blocks
  Matrix rotation;     ///< U, size x size; empty: the identity
  Matrix inverse;      ///< U^-1; empty: the transpose of U
  double log_det = 0;  ///< log |det U|^2
  /// The penalised part of each penalty, as a diagonal; empty unless all are diagonal.
  std::vector<std::vector<double>> diagonals;
  /// The penalised part of each penalty, rank x rank; empty if all are diagonal. `spread`: the ratio of the
  /// smallest nonzero to the largest eigenvalue of each.
  std::vector<Matrix> dense;
  std::vector<double> spread;
  /// For penalties of levels (`Penalty::levels`): each penalised part is the Kronecker product of an element
  /// of `dense`, with a row for each level, and this diagonal. Otherwise empty.
  std::vector<double> of_level;
  const Penalty* penalty = nullptr;
  /// Number of penalised coordinates that share a row of `dense`.
  [[nodiscard]] int copies() const noexcept {
    return of_level.empty() ? 1 : static_cast<int>(of_level.size());
  }
  [[nodiscard]] int penalties() const noexcept { return static_cast<int>(penalty->count()); }
  /// lambda of each penalty of this block; `log_sp`: an element for each penalty of all blocks.
  [[nodiscard]] std::vector<double> smoothing_parameters(std::span<const double> log_sp) const;
};

/// The basis of every penalised block, made from the common eigenvectors of its penalties, or from the
/// eigenvectors of sum_j S_j / |S_j|. The design must outlive the bases. Throws `Error(input)` if a matrix
/// loses its rank in double precision, as with knots of a cubic spline that are orders of magnitude apart.
[[nodiscard]] std::vector<BlockBasis> penalty_bases(const Design& design);

/// The penalties `dense` of a basis in coordinates T' b in which sum_j lambda_j S_j is graded: directions are
/// ordered by the size of their largest penalty, and each penalty is exactly zero after its own directions.
struct GradedPenalties {
  Matrix rotation;  ///< T; empty: the identity
  std::vector<Matrix> penalties;
};

/// Grades the penalties of a block. Ranks of sets of penalties come from the design. Source: Wood, JRSSB 73
/// (2011), appendix B. Cost: O(rank^3) for each group of penalties of similar size, except the last.
[[nodiscard]] GradedPenalties grade_penalties(const BlockBasis& basis, std::span<const double> lambda,
                                              const Algebra& algebra);

/// log|S|+ in the coordinates of the bases, with S = sum_j lambda_j S_j, and its derivatives by log lambda_j.
struct PenaltyDeterminant {
  double value = 0;
  std::vector<double> gradient;
  Matrix hessian;
};

/// Empty if the sum of a block's penalties is not numerically positive definite on its range. Cost: O(rank
/// M^2) for a block whose M penalties have common eigenvectors, else O(M rank^3).
[[nodiscard]] std::optional<PenaltyDeterminant> penalty_determinant(const std::vector<BlockBasis>& bases,
                                                                    std::span<const double> log_sp,
                                                                    const Algebra& algebra);

}  // namespace TESSERA_NAMESPACE::gam
