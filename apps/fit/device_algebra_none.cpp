// SPDX-License-Identifier: Apache-2.0
// DeviceAlgebra in a build without CUDA, or without the header of cuBLASLt: large products stay on the host.
#include "device_algebra.hpp"

namespace tessera::fit {

std::unique_ptr<BlasLt> open_blas_lt(std::string& why_not) {
  why_not = "this build had no header of cuBLASLt";
  return nullptr;
}

Matrix DeviceAlgebra::multiply(const Matrix& a, const Matrix& b) const {
  return host_.multiply(a, b);
}

}  // namespace tessera::fit
