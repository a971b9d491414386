// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/algebra.hpp"
#include "gam/linalg/border.hpp"
#include "gam/linalg/matrix.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace tessera::gam {

/// lambda_j S_j in the coordinates of one evaluation of the criterion: on `rank` coordinates from `begin` on.
struct ScaledPenalty {
  int begin = 0;
  int in_core = 0;  ///< `begin` among those of the core; negative: the eliminated block's
  int rank = 0;
  std::vector<double> diagonal;  ///< or
  Matrix dense;

  [[nodiscard]] bool is_eliminated() const noexcept { return in_core < 0; }
  /// lambda_j S_j b, on the penalty's own coordinates.
  [[nodiscard]] std::vector<double> times(std::span<const double> b) const;
  /// The columns A(., own coordinates) lambda_j S_j, A over the core.
  [[nodiscard]] Matrix after(const Matrix& a, const Algebra& algebra) const;
  /// R of `columns` columns with R R' = lambda_j S_j, on the penalty's own coordinates.
  [[nodiscard]] Matrix root(int columns) const;
};

/// tr(A S_j) and tr(A S_j A S_k), A = (X'WX + S)^-1, from the blocks of A: with the core's, V, the others are
/// D^-1 + D^-1 C V C' D^-1 and -D^-1 C V, of which nothing is formed.
class PenaltyTraces {
 public:
  /// `penalties` and `algebra` must outlive this; `diagonal` is D, `border` C.
  PenaltyTraces(const std::vector<ScaledPenalty>& penalties, const Matrix& core_inverse, const Border& border,
                std::span<const double> diagonal, const Algebra& algebra);

  /// tr(A S_j)
  [[nodiscard]] double of(std::size_t j) const;
  /// tr(A S_j A S_k)
  [[nodiscard]] double of(std::size_t j, std::size_t k) const;

 private:
  [[nodiscard]] double with_eliminated(std::size_t k) const;

  const std::vector<ScaledPenalty>& penalties_;
  const Algebra& algebra_;
  std::vector<Matrix> products_;  ///< V S_j of the core's
  Matrix through_core_;           ///< V C' D^-1 S_e D^-1 C, S_e the eliminated block's penalty
  double own_ = 0;                ///< tr(A S_e)
  double own_square_ = 0;         ///< tr(A S_e A S_e)
};

}  // namespace tessera::gam
