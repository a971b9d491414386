// SPDX-License-Identifier: Apache-2.0
#include "gam/inference/normal_draws.hpp"

#include "base/at.hpp"
#include "base/math/elementary.hpp"
#include "base/math/trigonometric.hpp"
#include "base/philox.hpp"
#include "gam/linalg/linalg.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace TESSERA_NAMESPACE::gam {

Matrix root_of(const Matrix& covariance) {
  if (auto lower = cholesky(covariance)) return std::move(*lower);
  SymmetricEigen eigen = symmetric_eigen(covariance);
  for (int j = 0; j < eigen.vectors.cols(); ++j) {
    const double root = std::sqrt(std::max(eigen.values[base::at(j)], 0.0));
    for (double& one : eigen.vectors.column(j)) one *= root;
  }
  return std::move(eigen.vectors);
}

void draw_normal(const Matrix& root, std::uint64_t seed, std::uint64_t stream, std::uint64_t draw,
                 std::span<double> out) {
  std::ranges::fill(out, 0.0);
  base::RandomPlace random(seed, draw, stream);
  double second = 0;
  for (int j = 0; j < root.cols(); ++j) {
    // Box-Muller transform.
    double z = second;
    if (j % 2 == 0) {
      const double radius = std::sqrt(-2 * base::log(random.uniform()));
      const double angle = 2 * std::numbers::pi * random.uniform();
      z = radius * base::cos(angle);
      second = radius * base::sin(angle);
    }
    add_multiple(out, z, root.column(j));
  }
}

}  // namespace TESSERA_NAMESPACE::gam
