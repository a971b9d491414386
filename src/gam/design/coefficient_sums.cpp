// SPDX-License-Identifier: Apache-2.0
#include "gam/design/coefficient_sums.hpp"

#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace tessera::gam {

namespace {

/// A block's map, and what it is multiplied by from the left.
struct BlockMap {
  explicit BlockMap(const CoefBlock& block) {
    if (block.has_identity_map()) return;
    map = &block.map;
    transposed = transpose(block.map);
  }
  [[nodiscard]] Matrix from_left(Matrix part, const Algebra& algebra) const {
    return map == nullptr ? std::move(part) : algebra.multiply(transposed, part);
  }
  [[nodiscard]] Matrix from_right(Matrix part, const Algebra& algebra) const {
    return map == nullptr ? std::move(part) : algebra.multiply(part, *map);
  }

  const Matrix* map = nullptr;  ///< null: the identity
  Matrix transposed;
};

}  // namespace

Matrix gram_in_coefficients(const Matrix& raw_gram, const Design& design, const Algebra& algebra) {
  Matrix gram(design.coef_size, design.coef_size);
  std::vector<BlockMap> maps;
  for (const CoefBlock& block : design.blocks) maps.emplace_back(block);
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const CoefBlock& a = design.blocks[i];
    for (std::size_t j = 0; j < maps.size(); ++j) {
      const CoefBlock& b = design.blocks[j];
      if (b.coef_begin > a.coef_begin) continue;
      Matrix part = submatrix(raw_gram, a.raw_begin, a.raw_size, b.raw_begin, b.raw_size);
      part = maps[j].from_right(maps[i].from_left(std::move(part), algebra), algebra);
      assign(gram, a.coef_begin, b.coef_begin, part);
      assign(gram, b.coef_begin, a.coef_begin, transpose(part));
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
    const auto part = block.to_coefficients(
        raw.subspan(static_cast<std::size_t>(block.raw_begin), static_cast<std::size_t>(block.raw_size)));
    std::copy(part.begin(), part.end(), coef.begin() + block.coef_begin);
  }
  return coef;
}

}  // namespace tessera::gam
