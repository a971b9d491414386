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
    int df;  ///< rank of the inverse; 0: no contrast has a variance, and no test
  };
  /// e'V+e, with e = L'b moved towards zero by `shift`. V+ inverts V = L' covariance L on the eigenvectors
  /// whose eigenvalues are larger than `tolerance` times the largest.
  [[nodiscard]] Result result(std::span<const double> coef, const Matrix& covariance, double shift,
                              double tolerance) const;

 private:
  Matrix contrasts_;
  Matrix basis_;  ///< orthonormal columns Z that span the rows of L, in which V has its eigenvectors
  Matrix rows_;   ///< Z'L': contrasts by coefficients
};

}  // namespace TESSERA_NAMESPACE::gam
