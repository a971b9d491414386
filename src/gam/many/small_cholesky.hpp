// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/lane_square.hpp"

#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The Cholesky factor R'R of a small matrix. Repeated calls allocate no memory. It is computed in SIMD
/// lanes, so that the bits are the same on every processor.
class SmallCholesky {
 public:
  /// Factors a matrix given as `packed`, its upper triangle by rows. False if it is not numerically positive
  /// definite.
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
  std::vector<double> inverse_;  ///< inverses of R's diagonal
  mutable LaneSquare square_;
};

}  // namespace TESSERA_NAMESPACE::gam
