// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/linalg.hpp"

#include <tessera/job/host_team.hpp>

#include <functional>
#include <span>

namespace TESSERA_NAMESPACE::gam {

/// The `count` eigenvalues of a symmetric matrix that are largest in absolute value, in descending order of
/// the values, with their vectors: to rounding of the largest. `multiply(x, y)` sets y = A x; `size` >=
/// `count`.
///
/// By the method of Lanczos with full reorthogonalisation, from so many fixed starts (Golub and Van Loan,
/// Matrix Computations, sec. 10.3): an eigenvalue is found as often as it is there if that is not more than
/// `starts` times. Bits do not depend on the number of threads of the team. Cost: a few times `count`
/// products, or `size` of them.
using SymmetricProduct = std::function<void(std::span<const double> x, std::span<double> y)>;
[[nodiscard]] SymmetricEigen extreme_eigen(HostTeam& team, int size, int count,
                                           const SymmetricProduct& multiply, int starts = 1);

/// The product with a symmetric matrix, of which all elements are there, on the threads of the team; refers
/// to both.
[[nodiscard]] SymmetricProduct product_with(HostTeam& team, const Matrix& a);

}  // namespace TESSERA_NAMESPACE::gam
