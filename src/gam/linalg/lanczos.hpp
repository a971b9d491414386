// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/linalg.hpp"

#include <tessera/job/host_team.hpp>

#include <functional>
#include <span>

namespace TESSERA_NAMESPACE::gam {

/// The `count` eigenvalues of largest absolute value of a symmetric matrix A, in descending order, with their
/// eigenvectors, accurate to rounding of the largest. `multiply(x, y)` sets y = A x; `size` >= `count`.
///
/// Block Lanczos with full reorthogonalisation from `starts` fixed vectors (Golub and Van Loan, Matrix
/// Computations, sec. 10.3): finds eigenvalues of multiplicity up to `starts`. Bits do not depend on the
/// number of threads of the team. Cost: a few times `count` products, or `size` of them.
using SymmetricProduct = std::function<void(std::span<const double> x, std::span<double> y)>;
[[nodiscard]] SymmetricEigen extreme_eigen(HostTeam& team, int size, int count,
                                           const SymmetricProduct& multiply, int starts = 1);

/// Multiplication by a dense symmetric matrix, stored in full, on the team's threads. Refers to both.
[[nodiscard]] SymmetricProduct product_with(HostTeam& team, const Matrix& a);

}  // namespace TESSERA_NAMESPACE::gam
