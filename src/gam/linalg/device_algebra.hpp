// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/algebra.hpp"

#include <tessera/job/tile.hpp>

#include <memory>

namespace TESSERA_NAMESPACE::gam {

class BlasLt;

/// Products by cuBLASLt on a tile's device. Small products, for which the transfer does not pay, use `host`.
/// Results are bitwise equal on devices of one model. Use only within a tile's function, on its thread.
class DeviceAlgebra final : public Algebra {
 public:
  /// Probes the backend "cuBLASLt" of the tile's device. Throws `tessera::Error` with the reason if it is not
  /// available. Both arguments must outlive the algebra.
  DeviceAlgebra(const Tile& tile, const Algebra& host);
  [[nodiscard]] Matrix multiply(const Matrix& a, const Matrix& b) const override;
  void check_cancelled() const override { host_.check_cancelled(); }

 private:
  [[maybe_unused]] const Tile& tile_;  // used only with cuBLASLt
  const Algebra& host_;
  std::shared_ptr<const BlasLt> blas_;
};

}  // namespace TESSERA_NAMESPACE::gam
