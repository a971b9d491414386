// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/algebra.hpp"
#include "gam/linalg/elimination.hpp"

#include <tessera/gam/matrix.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// lambda_j S_j in the coordinates of one evaluation of the criterion. It covers `rank` coordinates from
/// `begin` on, or the coordinates of a random effect in the part.
struct ScaledPenalty {
  int begin = 0;     ///< first coordinate; -1: the penalty is on the part
  int in_outer = 0;  ///< `begin` among the coordinates that are not eliminated
  int rank = 0;
  std::vector<double> diagonal;  ///< elements of a diagonal penalty; else `dense` is set
  Matrix dense;
  std::vector<int> places;  ///< coordinates of a random effect in the part; its penalty is diagonal

  [[nodiscard]] bool is_of_part() const noexcept { return !places.empty(); }
  /// For an effect whose first coefficient is `first` in the part: drops the zeros of `diagonal`, and sets
  /// `places`. `order` maps indices in the part to the order of elimination.
  void take_places(std::span<const int> order, int first);
  [[nodiscard]] std::vector<double> own(std::span<const double> b) const;
  /// b += factor x, for x in the penalty's own coordinates.
  void add_to(std::span<double> b, double factor, std::span<const double> x) const;
  /// lambda_j S_j b, in the penalty's own coordinates.
  [[nodiscard]] std::vector<double> times(std::span<const double> b) const;
  /// The columns A(., own coordinates) lambda_j S_j, for A over the coefficients that are not eliminated.
  [[nodiscard]] Matrix after(const Matrix& a, const Algebra& algebra) const;
  /// R with R R' = lambda_j S_j, in the penalty's own coordinates.
  [[nodiscard]] Matrix root(int columns) const;
};

/// tr(A S_j) and tr(A S_j A S_k) for A = (X'WX + S)^-1, from the core V of A, the eliminated block D and its
/// border C, without the blocks D^-1 + D^-1 C V C' D^-1 and -D^-1 C V of A. D may have small dense blocks. If
/// elimination causes other fill-in, only the diagonal of A is available, and no traces of pairs.
class PenaltyTraces {
 public:
  /// `penalties` and `algebra` must outlive this object; `matrix`: X'WX; `block`: the eliminated block of
  /// A^-1.
  PenaltyTraces(const std::vector<ScaledPenalty>& penalties, const Matrix& outer_inverse,
                const OrderedMatrix& matrix, const EliminatedBlock& block, const Algebra& algebra);

  /// tr(A S_j)
  [[nodiscard]] double of(std::size_t j) const;
  /// tr(A S_j A S_k); empty if one of the penalties is on a part with fill-in.
  [[nodiscard]] std::optional<double> of(std::size_t j, std::size_t k) const;

 private:
  void eliminate(const ScaledPenalty& penalty, const Matrix& outer_inverse, const Border& border,
                 std::span<const double> diagonal);
  void select(const Matrix& outer_inverse, const OrderedMatrix& matrix, const EliminatedBlock& block);
  void take_traces(std::span<const double> diagonal, const Matrix& outer_inverse);
  void take_blocks(const OrderedMatrix& matrix, const EliminatedBlock& block, const Matrix& outer_inverse);
  [[nodiscard]] double with_eliminated(std::size_t k) const;

  const std::vector<ScaledPenalty>& penalties_;
  const Algebra& algebra_;
  std::vector<Matrix> products_;    ///< V S_j for the penalties that are not on the part
  std::vector<double> of_effects_;  ///< tr(A S_j) for penalties on a part with fill-in
  /// For dense blocks B, with U = B^-1 C. `through_blocks_`: V U'S_j U for each penalty. `own_squares_`: tr(A
  /// S_j A S_k) minus the trace of the product of two of these matrices.
  std::vector<Matrix> through_blocks_;
  Matrix own_squares_;
  Matrix through_core_;    ///< V C' D^-1 S_e D^-1 C, for the eliminated block's penalty S_e
  double own_ = 0;         ///< tr(A S_e)
  double own_square_ = 0;  ///< tr(A S_e A S_e)
};

}  // namespace TESSERA_NAMESPACE::gam
