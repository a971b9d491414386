// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/parted_matrix.hpp"

#include <tessera/gam/matrix.hpp>

#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// All elements of the inverse V of a symmetric matrix A = [D B'; B C] with a large diagonal block D (the
/// part, such as a random effect) and a small dense block C (the core). Off-diagonal elements of V_pp are not
/// stored, but follow from the stored elements:
///
///     V_pp = D^-1 + V_pc V_cc^-1 V_cp
///
/// where p are the rows of D and c those of C. V_cc^-1 is a pseudo-inverse if A has zero rows. Without D all
/// of V is stored. Cost of construction: O(q^2 r) for r rows of D and q of C.
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
