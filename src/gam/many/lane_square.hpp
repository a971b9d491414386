// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/at.hpp"
#include "base/math/lanes.hpp"

#include <tessera/version.hpp>

#include <cstddef>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A row-major square matrix with rows padded by zeros to whole SIMD packets.
class LaneSquare {
 public:
  void resize(int size) {
    size_ = size;
    stride_ = (size + base::lane_count - 1) / base::lane_count * base::lane_count;
    values_.assign(base::at(size_) * base::at(stride_), 0);
  }
  /// Sets a symmetric matrix from its packed upper triangle.
  void set_symmetric(const std::vector<double>& packed, int size) {
    resize(size);
    const double* from = packed.data();
    for (int a = 0; a < size; ++a) {
      for (int b = a; b < size; ++b) row(a)[b] = row(b)[a] = *from++;
    }
  }
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] int stride() const noexcept { return stride_; }
  [[nodiscard]] double* row(int i) noexcept { return values_.data() + std::ptrdiff_t{stride_} * i; }
  [[nodiscard]] const double* row(int i) const noexcept {
    return values_.data() + std::ptrdiff_t{stride_} * i;
  }

 private:
  int size_ = 0;
  int stride_ = 0;
  std::vector<double> values_;
};

/// Frobenius inner product.
[[nodiscard]] double dot(const LaneSquare& a, const LaneSquare& b);
/// to -= a x for a symmetric matrix a.
void subtract_product(const LaneSquare& a, const double* x, double* to);

}  // namespace TESSERA_NAMESPACE::gam
