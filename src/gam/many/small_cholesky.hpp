// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/lane_square.hpp"

#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Cholesky factorisation R'R of a small matrix. Repeated calls do not allocate. Bitwise equal on every CPU.
class SmallCholesky {
 public:
  /// Factors a packed matrix. False if it is not numerically positive definite.
  [[nodiscard]] bool factor(const std::vector<double>& packed, int size);
  [[nodiscard]] double log_determinant() const;
  /// x = (R'R)^-1 x.
  void solve(double* x) const;
  /// (R'R)^-1, packed.
  void inverse(std::vector<double>& packed) const;
  /// a = R^-T a R^-1 for a symmetric matrix.
  void scale(LaneSquare& a) const;

 private:
  LaneSquare upper_;             ///< R
  std::vector<double> inverse_;  ///< reciprocals of the diagonal of R
  mutable LaneSquare square_;
};

}  // namespace TESSERA_NAMESPACE::gam
