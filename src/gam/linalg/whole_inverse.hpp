// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/parted_matrix.hpp"

#include <tessera/gam/matrix.hpp>

#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// All elements of the inverse V of a symmetric matrix A whose part is a diagonal matrix D. Off-diagonal
/// elements of V within the part are not stored, but follow from the stored elements:
///
///     V_pp = D^-1 + V_pc V_cc^-1 V_cp
///
/// where p is the part and c the core. V_cc^-1 is a pseudo-inverse if A has zero rows. Without a part, all of
/// V is stored. Cost: O(q^2 r) for r rows of the part and q of the core.
class WholeInverse {
 public:
  /// True if the stored elements determine all others: V has no pattern.
  [[nodiscard]] static bool follows_from(const PartedMatrix& inverse) noexcept {
    return inverse.pattern() == nullptr;
  }
  /// `inverse` must outlive this object, and satisfy `follows_from`.
  explicit WholeInverse(const PartedMatrix& inverse);

  /// V x.
  [[nodiscard]] std::vector<double> times(std::span<const double> x) const;
  /// V_cp V_pc.
  [[nodiscard]] const Matrix& border_square() const noexcept { return border_square_; }
  /// tr(V_pp V_pp).
  [[nodiscard]] double square_of_part() const;

 private:
  const PartedMatrix& inverse_;
  Matrix core_inverse_;  ///< V_cc^-1
  Matrix border_square_;
  std::vector<double> diagonal_inverse_;  ///< D^-1
};

}  // namespace TESSERA_NAMESPACE::gam
