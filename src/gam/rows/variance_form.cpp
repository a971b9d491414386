// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/variance_form.hpp"

#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <cstddef>

namespace tessera::gam {
namespace {

/// M V M', block by block.
Matrix raw_covariance(const Design& design, const Matrix& covariance) {
  Matrix half(design.coef_size, design.raw_size);  // V M'
  for (const CoefBlock& block : design.blocks) {
    Matrix part = submatrix(covariance, 0, design.coef_size, block.coef_begin, block.coef_size);
    if (!block.has_identity_map()) part = multiply_nt(part, block.map);
    for (int j = 0; j < part.cols(); ++j) {
      const auto to = half.column(block.raw_begin + j);
      for (std::size_t i = 0; i < to.size(); ++i) to[i] += part.column(j)[i];
    }
  }
  Matrix raw(design.raw_size, design.raw_size);
  for (const CoefBlock& block : design.blocks) {
    Matrix part = submatrix(half, block.coef_begin, block.coef_size, 0, design.raw_size);
    if (!block.has_identity_map()) part = multiply(block.map, part);
    for (int j = 0; j < part.cols(); ++j) {
      for (int i = 0; i < part.rows(); ++i) raw(block.raw_begin + i, j) += part(i, j);
    }
  }
  return raw;
}

}  // namespace

std::vector<double> variance_form(const Design& design, const RowLayout& layout, const Matrix& covariance) {
  return layout.packed(raw_covariance(design, covariance));
}

}  // namespace tessera::gam
