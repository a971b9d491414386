// SPDX-License-Identifier: Apache-2.0
// DeviceAlgebra for builds without CUDA or without cuBLASLt's header: construction throws.
#include "gam/linalg/device_algebra.hpp"

#include <tessera/error.hpp>

namespace TESSERA_NAMESPACE::gam {

class BlasLt {};

DeviceAlgebra::DeviceAlgebra(const Tile& tile, const Algebra& host) : tile_(tile), host_(host) {
  throw Error(ErrorCode::device_absent, "this build lacks the header of cuBLASLt");
}

Matrix DeviceAlgebra::multiply(const Matrix& a, const Matrix& b) const {
  return host_.multiply(a, b);
}

}  // namespace TESSERA_NAMESPACE::gam
