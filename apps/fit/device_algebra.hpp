// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "algebra.hpp"

#include <tessera/job/tile.hpp>

#include <memory>
#include <string>

namespace tessera::fit {

/// cuBLASLt, opened for one device.
class BlasLt {
 public:
  virtual ~BlasLt() = default;
  /// c = a b of m x k and k x n doubles in column-major device memory, on the tile's stream, with scratch
  /// memory leased from the tile's workspaces. Throws `tessera::Error(job_fault)` naming the call that
  /// failed.
  virtual void multiply(const Tile& tile, const double* a, const double* b, double* c, int m, int n,
                        int k) = 0;
};

/// Opens cuBLASLt for the device that is current. Null where it is not there: `why_not` says why.
[[nodiscard]] std::unique_ptr<BlasLt> open_blas_lt(std::string& why_not);

/// Products on a tile's device; those too small to be worth the way there on the host. The same bits on
/// devices of one kind. For the duration of a tile's function, on its thread.
class DeviceAlgebra final : public Algebra {
 public:
  /// All must outlive the algebra.
  DeviceAlgebra(const Tile& tile, BlasLt& blas, const Algebra& host)
      : tile_(tile), blas_(blas), host_(host) {}
  [[nodiscard]] Matrix multiply(const Matrix& a, const Matrix& b) const override;
  void go_on() const override { host_.go_on(); }

 private:
  const Tile& tile_;
  BlasLt& blas_;
  const Algebra& host_;
};

}  // namespace tessera::fit
