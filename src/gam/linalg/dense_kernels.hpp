// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/math/packet.hpp"

#include <tessera/version.hpp>

#include <cstddef>

/// The hot loops of dense linear algebra. The order of additions does not depend on the SIMD width.
namespace TESSERA_NAMESPACE::gam {

/// A factor of a product, possibly transposed: element (i, j) is first[i * down + j * across].
struct DenseOperand {
  const double* first;
  std::ptrdiff_t down, across;
};
/// to += scale a b. `a` has rows x inner elements, `b` inner x columns; `to` is column-major, with columns
/// `stride` apart. Scratch memory: 256 numbers for each column and each of up to 96 rows.
struct DenseProduct {
  int rows, columns, inner;
  double scale;
  DenseOperand a, b;
  double* to;
  std::ptrdiff_t stride;
};

/// Matrices are column-major, with columns `stride` apart. Compiled from dense_kernels_text.hpp.
template <int width>
struct DenseKernels {
  static void add_product(const DenseProduct& product);
  /// to += scale a x.
  static void add_columns(double scale, const double* a, std::ptrdiff_t stride, int rows, int columns,
                          const double* x, double* to);
  /// to = a' x.
  static void multiply_columns(const double* a, std::ptrdiff_t stride, int rows, int columns, const double* x,
                               double* to);
  /// Replaces the lower triangle by the Cholesky factor; false if not positive definite; n <= small_rows.
  static bool factor(double* a, std::ptrdiff_t stride, int n);
  /// Replaces X by X L'^-1; n <= small_rows.
  static void solve_right(const double* lower, std::ptrdiff_t stride, int n, double* x,
                          std::ptrdiff_t x_stride, int rows);
  /// Replaces X by L^-1 X or L'^-1 X; n <= small_rows.
  static void solve_left(const double* lower, std::ptrdiff_t stride, int n, bool transposed, double* x,
                         std::ptrdiff_t x_stride, int columns);
};
inline constexpr int small_rows = 32;

}  // namespace TESSERA_NAMESPACE::gam
