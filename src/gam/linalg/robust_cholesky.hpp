// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/matrix.hpp>

namespace TESSERA_NAMESPACE::gam {

/// The lower Cholesky factor of a positive semidefinite, possibly singular or ill-conditioned matrix. If
/// necessary, a ridge of the size of rounding, relative to the diagonal, is added first. Throws
/// `std::logic_error` for any other matrix. A fit factors its penalised crossproduct in gam/reml/reml.cpp.
[[nodiscard]] Matrix robust_cholesky(const Matrix& a);

}  // namespace TESSERA_NAMESPACE::gam
