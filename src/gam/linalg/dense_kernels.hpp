// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/math/packet.hpp"

#include <tessera/version.hpp>

#include <cstddef>

/// The operations in which dense linear algebra spends its time. Bits depend on shapes and operands, not on
/// the width of registers: a sum adds its products in one order, which is that of the text.
namespace TESSERA_NAMESPACE::gam {

/// A factor of a product, or its transpose: element (i, j) is first[i * down + j * across].
struct DenseOperand {
  const double* first;
  std::ptrdiff_t down, across;
};
/// to += scale a b, for `a` with rows x inner elements, and a column-major `to` with columns `stride` apart.
/// Scratch memory: 256 numbers for each column and each of up to 96 rows.
struct DenseProduct {
  int rows, columns, inner;
  double scale;
  DenseOperand a, b;
  double* to;
  std::ptrdiff_t stride;
};

/// Matrices are column-major, with columns `stride` apart. Compiled for each width, by
/// dense_kernels_text.hpp.
template <int width>
struct DenseKernels {
  static void add_product(const DenseProduct& product);
  /// to += scale a x.
  static void add_columns(double scale, const double* a, std::ptrdiff_t stride, int rows, int columns,
                          const double* x, double* to);
  /// to = a' x.
  static void multiply_columns(const double* a, std::ptrdiff_t stride, int rows, int columns, const double* x,
                               double* to);
  /// The Cholesky factor L of a small matrix, in place of its lower triangle; false if it is not positive
  /// definite.
  static bool factor(double* a, std::ptrdiff_t stride, int n);
  /// X L'^-1 in place of `x`, for a small L.
  static void solve_right(const double* lower, std::ptrdiff_t stride, int n, double* x,
                          std::ptrdiff_t x_stride, int rows);
  /// L^-1 X or L'^-1 X in place of `x`, for a small L.
  static void solve_left(const double* lower, std::ptrdiff_t stride, int n, bool transposed, double* x,
                         std::ptrdiff_t x_stride, int columns);
};
/// Small matrices have at most this number of rows.
inline constexpr int small_rows = 32;

}  // namespace TESSERA_NAMESPACE::gam
