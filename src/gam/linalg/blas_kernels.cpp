// SPDX-License-Identifier: Apache-2.0
#include "gam/linalg/blas_kernels.hpp"

// Only OpenBLAS has this function, and not every cblas.h declares it.
// NOLINTNEXTLINE(readability-redundant-declaration)
extern "C" char* openblas_get_corename() __attribute__((weak));

namespace TESSERA_NAMESPACE::gam {

std::string kernels_of_blas() {
  return openblas_get_corename != nullptr ? openblas_get_corename() : std::string();
}

}  // namespace TESSERA_NAMESPACE::gam
