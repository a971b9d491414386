// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/linalg.hpp"

#include <tessera/job/host_team.hpp>

#include <functional>
#include <span>

namespace TESSERA_NAMESPACE::gam {

/// `multiply(x, y)`: y = A x, for a symmetric matrix A.
using SymmetricProduct = std::function<void(std::span<const double> x, std::span<double> y)>;
/// The `count` <= `size` eigenvalues of A of largest absolute value, descending, with eigenvectors. Errors
/// are of the size of the rounding error of the largest eigenvalue. Block Lanczos with full
/// reorthogonalisation (Golub and Van Loan, Matrix Computations, sec. 10.3), from `starts` pseudo-random
/// vectors with a fixed seed. Finds eigenvalues of multiplicity up to `starts`. Rounding does not depend on
/// the number of threads. Cost: a few times `count` products, at most `size`.
[[nodiscard]] SymmetricEigen extreme_eigen(HostTeam& team, int size, int count,
                                           const SymmetricProduct& multiply, int starts = 1);

/// Multithreaded product with a dense symmetric matrix; `team` and `a` must outlive the result.
[[nodiscard]] SymmetricProduct product_with(HostTeam& team, const Matrix& a);

}  // namespace TESSERA_NAMESPACE::gam
