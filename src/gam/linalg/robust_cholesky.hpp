// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/matrix.hpp>

namespace TESSERA_NAMESPACE::gam {

/// The lower Cholesky factor of a positive semidefinite matrix, which may be singular or ill-conditioned. If
/// necessary, adds a ridge relative to the diagonal, increased from the size of rounding errors until the
/// factorisation succeeds. Throws `std::logic_error` if the matrix is not positive semidefinite.
[[nodiscard]] Matrix robust_cholesky(const Matrix& a);

}  // namespace TESSERA_NAMESPACE::gam
