// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "matrix.hpp"

namespace tessera::fit {

/// Who computes the products of large matrices that a fit's smoothing parameters need. Bits depend on the
/// operands and on the kind of the algebra alone, not on how many threads share the work.
class Algebra {
 public:
  virtual ~Algebra() = default;
  /// a b. Shapes must agree.
  [[nodiscard]] virtual Matrix multiply(const Matrix& a, const Matrix& b) const = 0;
};

/// On some of the host's threads, in columns whose number is fixed.
class HostAlgebra final : public Algebra {
 public:
  explicit HostAlgebra(int threads = 1) : threads_(threads) {}
  [[nodiscard]] Matrix multiply(const Matrix& a, const Matrix& b) const override;

 private:
  int threads_;
};

}  // namespace tessera::fit
