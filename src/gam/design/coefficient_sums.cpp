// SPDX-License-Identifier: Apache-2.0
#include "gam/design/coefficient_sums.hpp"

#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace tessera::gam {

namespace {

/// A block's map, with products from the left.
struct BlockMap {
  explicit BlockMap(const CoefBlock& block) : copies(block.copies) {
    if (block.has_identity_map()) return;
    map = &block.map;
    transposed = transpose(block.map);
  }
  [[nodiscard]] Matrix from_left(Matrix part, const Algebra& algebra) const {
    if (map == nullptr) return part;
    if (copies == 1) return algebra.multiply(transposed, part);
    Matrix out(copies * map->cols(), part.cols());
    for (int copy = 0; copy < copies; ++copy)
      assign(out, copy * map->cols(), 0,
             algebra.multiply(transposed,
                              submatrix(part, copy * map->rows(), map->rows(), 0, part.cols())));
    return out;
  }
  [[nodiscard]] Matrix from_right(Matrix part, const Algebra& algebra) const {
    if (map == nullptr) return part;
    if (copies == 1) return algebra.multiply(part, *map);
    Matrix out(part.rows(), copies * map->cols());
    for (int copy = 0; copy < copies; ++copy)
      assign(out, 0, copy * map->cols(),
             algebra.multiply(submatrix(part, 0, part.rows(), copy * map->rows(), map->rows()), *map));
    return out;
  }

  const Matrix* map = nullptr;  ///< null: the identity
  int copies;
  Matrix transposed;
};

}  // namespace

PartedMatrix gram_in_coefficients(const PartedMatrix& raw_gram, const Design& design,
                                  const Algebra& algebra) {
  const Part part = design.parted_coefficients();
  PartedMatrix gram(design.coef_size, part, part.size() > 0 ? raw_gram.pattern() : nullptr);
  if (gram.is_parted()) {
    gram.diagonal = raw_gram.diagonal;
    gram.beside = raw_gram.beside;
  }
  std::vector<const CoefBlock*> blocks;  // without the parted ones, which are raw columns
  std::vector<BlockMap> maps;
  for (const CoefBlock& block : design.blocks) {
    if (raw_gram.part().has(block.raw_begin)) continue;
    blocks.push_back(&block);
    maps.emplace_back(block);
  }
  for (std::size_t j = 0; j < maps.size(); ++j) {
    const CoefBlock& b = *blocks[j];
    const int raw_column = raw_gram.in_core(b.raw_begin);
    const int column = gram.in_core(b.coef_begin);
    for (std::size_t i = 0; i < maps.size(); ++i) {
      const CoefBlock& a = *blocks[i];
      if (b.coef_begin > a.coef_begin) continue;
      Matrix part =
          submatrix(raw_gram.core, raw_gram.in_core(a.raw_begin), a.raw_size, raw_column, b.raw_size);
      part = maps[j].from_right(maps[i].from_left(std::move(part), algebra), algebra);
      assign(gram.core, gram.in_core(a.coef_begin), column, part);
      assign(gram.core, column, gram.in_core(a.coef_begin), transpose(part));
    }
    if (!gram.is_parted()) continue;
    Matrix beside = submatrix(raw_gram.border, 0, raw_gram.border.rows(), raw_column, b.raw_size);
    assign(gram.border, 0, column, maps[j].from_right(std::move(beside), algebra));
  }
  // Only rounding makes a block's product with itself unsymmetric.
  for (int j = 0; j < gram.core.cols(); ++j) {
    for (int i = 0; i < j; ++i) gram.core(j, i) = gram.core(i, j);
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
