// SPDX-License-Identifier: Apache-2.0
#include "gam/design/coefficient_sums.hpp"

#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

namespace {

/// Multiplication by a block's map M: `from_left` by M', `from_right` by M.
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
             algebra.multiply(transposed, submatrix(part, copy * map->rows(), map->rows(), 0, part.cols())));
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

template <class Use>
void for_each_of_part(const Design& design, const Use& use) {
  for (const CoefBlock& block : design.blocks) {
    if (design.parted_columns.has(block.raw_begin)) use(block);
  }
}

/// Calls `use(level, met)` for each level of the sparse part; `met`: later levels with rows in common.
template <class Use>
void for_each_pair(const SparsePattern& raw, const std::vector<PartLevel>& levels, const Use& use) {
  std::vector<const PartLevel*> met;
  for (const PartLevel& own : levels) {
    met.clear();
    const auto rows = raw.rows_of(own.raw_begin);
    for (auto row = rows.begin(); row != rows.end(); ++row) {
      if (*row < own.raw_begin + own.raw_size) continue;
      const auto after = std::ranges::upper_bound(levels, *row, {}, &PartLevel::raw_begin);
      const PartLevel& other = *std::prev(after);
      if (*row == other.raw_begin) met.push_back(&other);
    }
    use(own, std::span<const PartLevel* const>(met));
  }
}

/// The pattern of the sparse part by coefficient. `raw`: its pattern by raw column.
std::shared_ptr<const SparsePattern> pattern_of_levels(const SparsePattern& raw,
                                                       const std::vector<PartLevel>& levels) {
  SparsePattern pattern;
  for_each_pair(raw, levels, [&](const PartLevel& own, std::span<const PartLevel* const> met) {
    for (int column = own.begin; column < own.begin + own.size; ++column) {
      for (int row = column + 1; row < own.begin + own.size; ++row) pattern.rows.push_back(row);
      for (const PartLevel* const other : met) {
        for (int k = 0; k < other->size; ++k) pattern.rows.push_back(other->begin + k);
      }
      pattern.begins.push_back(std::ssize(pattern.rows));
    }
  });
  return std::make_shared<const SparsePattern>(std::move(pattern));
}

/// Sets the elements within the sparse part if levels have several columns (factor smooths): M' G M, with the
/// raw crossproducts G, for each level, and for each pair of levels that share rows.
void take_curves(const PartedMatrix& raw_gram, const std::vector<PartLevel>& levels, PartedMatrix& gram) {
  const Part& raw_part = raw_gram.part();
  const Part& part = gram.part();
  for_each_pair(
      *raw_gram.pattern(), levels, [&](const PartLevel& own, std::span<const PartLevel* const> met) {
        const auto block = [&](const PartLevel& other) {
          Matrix raw(other.raw_size, own.raw_size);
          for (int j = 0; j < raw.cols(); ++j) {
            for (int i = 0; i < raw.rows(); ++i)
              raw(i, j) = raw_gram(raw_part.row_at(other.raw_begin + i), raw_part.row_at(own.raw_begin + j));
          }
          if (own.map != nullptr) raw = multiply(raw, *own.map);
          return other.map != nullptr ? multiply_tn(*other.map, raw) : raw;
        };
        const auto set = [&](const PartLevel& other, int i, int j, double value) {
          gram.set(part.row_at(other.begin + i), part.row_at(own.begin + j), value);
        };
        const Matrix square = block(own);
        for (int j = 0; j < own.size; ++j) {
          for (int i = j; i < own.size; ++i) set(own, i, j, square(i, j));
        }
        for (const PartLevel* const other : met) {
          const Matrix beside = block(*other);
          for (int j = 0; j < own.size; ++j) {
            for (int i = 0; i < other->size; ++i) set(*other, i, j, beside(i, j));
          }
        }
      });
}

/// M'A for the maps M of the sparse part's blocks; A has a row for each raw column of the part.
Matrix in_curves(const Matrix& raw_rows, const Part& raw_part, const Design& design, const Algebra& algebra) {
  Matrix out(design.parted_coefficients().size(), raw_rows.cols());
  int place = 0;
  for_each_of_part(design, [&](const CoefBlock& block) {
    const Matrix own =
        submatrix(raw_rows, raw_part.in_part(block.raw_begin), block.raw_size, 0, raw_rows.cols());
    assign(out, place, 0, BlockMap(block).from_left(own, algebra));
    place += block.coef_size;
  });
  return out;
}

}  // namespace

PartedMatrix gram_in_coefficients(const PartedMatrix& raw_gram, const Design& design,
                                  const Algebra& algebra) {
  const Part part = design.parted_coefficients();
  const bool curves = part.size() > 0 && design.parts_curves();
  const std::vector<PartLevel> levels = curves ? design.levels_of_part() : std::vector<PartLevel>();
  PartedMatrix gram(design.coef_size, part,
                    curves            ? pattern_of_levels(*raw_gram.pattern(), levels)
                    : part.size() > 0 ? raw_gram.pattern()
                                      : nullptr);
  if (curves) {
    take_curves(raw_gram, levels, gram);
  } else if (gram.is_parted()) {
    gram.diagonal = raw_gram.diagonal;
    gram.beside = raw_gram.beside;
  }
  std::vector<const CoefBlock*> blocks;  // blocks outside the sparse part
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
      Matrix products =
          submatrix(raw_gram.core, raw_gram.in_core(a.raw_begin), a.raw_size, raw_column, b.raw_size);
      products = maps[j].from_right(maps[i].from_left(std::move(products), algebra), algebra);
      assign(gram.core, gram.in_core(a.coef_begin), column, products);
      assign(gram.core, column, gram.in_core(a.coef_begin), transpose(products));
    }
    if (!gram.is_parted()) continue;
    Matrix beside = submatrix(raw_gram.border, 0, raw_gram.border.rows(), raw_column, b.raw_size);
    beside = maps[j].from_right(std::move(beside), algebra);
    if (curves) beside = in_curves(beside, raw_gram.part(), design, algebra);
    assign(gram.border, 0, column, beside);
  }
  // Symmetrises diagonal blocks, which rounding makes asymmetric.
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

}  // namespace TESSERA_NAMESPACE::gam
