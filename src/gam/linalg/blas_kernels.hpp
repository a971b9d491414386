// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <string>

namespace TESSERA_NAMESPACE::gam {

/// The processor type of OpenBLAS's kernels, e.g. "Haswell"; empty for another BLAS.
[[nodiscard]] std::string kernels_of_blas();

}  // namespace TESSERA_NAMESPACE::gam
