// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/matrix.hpp>

#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A Wald test of contrasts L'b of coefficients b. Thread-safe.
class ContrastTest {
 public:
  /// `contrasts`: L, a contrast in each column.
  explicit ContrastTest(Matrix contrasts);

  /// L'b.
  [[nodiscard]] std::vector<double> estimates(std::span<const double> coef) const;

  struct Result {
    double statistic;
    int df;  ///< rank of V+; 0: all variances are 0, and there is no test
  };
  /// The statistic e'V+e, with e = L'b soft-thresholded by `shift`. V+ is the pseudoinverse of V = L'
  /// covariance L, from the eigenvalues larger than `tolerance` times the largest.
  [[nodiscard]] Result result(std::span<const double> coef, const Matrix& covariance, double shift,
                              double tolerance) const;

 private:
  Matrix contrasts_;
  Matrix basis_;  ///< Z: orthonormal basis of the row space of L, contrasts x rank
  Matrix rows_;   ///< Z'L': rank x coefficients
};

}  // namespace TESSERA_NAMESPACE::gam
