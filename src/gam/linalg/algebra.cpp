// SPDX-License-Identifier: Apache-2.0
#include "gam/linalg/algebra.hpp"

#include "gam/linalg/linalg.hpp"

namespace tessera::gam {
namespace {

/// Columns of a product that one call computes: many enough that BLAS runs at its full rate, few enough that
/// there is work for all threads.
constexpr std::int64_t columns_at_once = 64;

}  // namespace

Matrix HostAlgebra::multiply(const Matrix& a, const Matrix& b) const {
  go_on();
  Matrix product(a.rows(), b.cols());
  team_.for_each_block({0, b.cols()}, columns_at_once, [&](int, Range columns) {
    multiply_columns(a, b, static_cast<int>(columns.begin), static_cast<int>(columns.end), product);
  });
  return product;
}

void HostAlgebra::for_each(int count, const std::function<void(int i, const Algebra& algebra)>& work) const {
  team_.for_each_block({0, count}, 1, [&](int /*thread*/, Range one) {
    work(static_cast<int>(one.begin), HostAlgebra(1, check_));
  });
}

}  // namespace tessera::gam
