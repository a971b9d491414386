// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/linalg.hpp"

#include <random>

namespace TESSERA_NAMESPACE::gam::testing {

/// A matrix of uniform numbers in [-1, 1).
inline Matrix random_matrix(std::mt19937_64& random, int rows, int columns) {
  Matrix a(rows, columns);
  for (double& value : a.values()) value = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
  return a;
}

inline Matrix random_covariance(std::mt19937_64& random, int n) {
  const Matrix root = random_matrix(random, n, n);
  Matrix a = multiply_tn(root, root);
  for (int i = 0; i < n; ++i) a(i, i) += 1;
  return a;
}

}  // namespace TESSERA_NAMESPACE::gam::testing
