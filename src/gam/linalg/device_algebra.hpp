// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/algebra.hpp"

#include <tessera/job/tile.hpp>

#include <memory>

namespace TESSERA_NAMESPACE::gam {

/// cuBLASLt, opened for one device.
class BlasLt;

/// Products on a tile's device by cuBLASLt; those too small for the transfer to pay on the host. The same
/// bits on devices of one kind. For the duration of a tile's function, on its thread.
class DeviceAlgebra final : public Algebra {
 public:
  /// Probes the backend "cuBLASLt" of the tile's device. Throws `tessera::Error`, which says why, where it is
  /// not to be had. Both arguments must outlive the algebra.
  DeviceAlgebra(const Tile& tile, const Algebra& host);
  [[nodiscard]] Matrix multiply(const Matrix& a, const Matrix& b) const override;
  void go_on() const override { host_.go_on(); }

 private:
  [[maybe_unused]] const Tile& tile_;  // where there is cuBLASLt
  const Algebra& host_;
  std::shared_ptr<const BlasLt> blas_;
};

}  // namespace TESSERA_NAMESPACE::gam
