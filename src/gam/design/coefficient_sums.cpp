// SPDX-License-Identifier: Apache-2.0
#include "gam/design/coefficient_sums.hpp"

#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <algorithm>

namespace tessera::gam {

Matrix gram_in_coefficients(const Matrix& raw_gram, const Design& design, const Algebra& algebra) {
  Matrix gram(design.coef_size, design.coef_size);
  for (const CoefBlock& a : design.blocks) {
    const Matrix back = transpose(a.map);
    for (const CoefBlock& b : design.blocks) {
      if (b.coef_begin > a.coef_begin) continue;
      const Matrix part = submatrix(raw_gram, a.raw_begin, a.raw_size, b.raw_begin, b.raw_size);
      const Matrix mapped = algebra.multiply(algebra.multiply(back, part), b.map);
      assign(gram, a.coef_begin, b.coef_begin, mapped);
      assign(gram, b.coef_begin, a.coef_begin, transpose(mapped));
    }
  }
  // A block's product with itself is symmetric but for rounding.
  for (int j = 0; j < gram.cols(); ++j) {
    for (int i = 0; i < j; ++i) gram(j, i) = gram(i, j);
  }
  return gram;
}

std::vector<double> to_coefficients(std::span<const double> raw, const Design& design) {
  std::vector<double> coef(static_cast<std::size_t>(design.coef_size));
  for (const CoefBlock& block : design.blocks) {
    const auto part = multiply_t(block.map, raw.subspan(static_cast<std::size_t>(block.raw_begin),
                                                        static_cast<std::size_t>(block.raw_size)));
    std::copy(part.begin(), part.end(), coef.begin() + block.coef_begin);
  }
  return coef;
}

}  // namespace tessera::gam
