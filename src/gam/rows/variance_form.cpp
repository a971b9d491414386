// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/variance_form.hpp"

#include "base/at.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// Sets the sparse part of `raw`, whose levels have several columns: a block M V M' for each level, and for
/// each pair of levels that occurs in a row of the data; NaN where `covariance` does not store the elements.
void add_curves(const Design& design, const PartedMatrix& covariance, PartedMatrix& raw) {
  const std::vector<PartLevel> levels = design.levels_of_part();
  const Part& part = covariance.part();
  const auto block = [&](const PartLevel& row, const PartLevel& column) {
    Matrix own(row.size, column.size);
    for (int j = 0; j < own.cols(); ++j) {
      for (int i = 0; i < own.rows(); ++i) {
        const int a = part.row_at(row.begin + i);
        const int b = part.row_at(column.begin + j);
        own(i, j) = covariance.has(a, b) ? covariance(a, b) : std::numeric_limits<double>::quiet_NaN();
      }
    }
    if (column.map != nullptr) own = multiply_nt(own, *column.map);
    return row.map != nullptr ? multiply(*row.map, own) : own;
  };
  const SparsePattern& pattern = *raw.pattern();
  for (const PartLevel& column : levels) {
    const Matrix own = block(column, column);
    for (int j = 0; j < own.cols(); ++j) raw.diagonal[at(column.raw_begin + j)] = own(j, j);
    std::optional<Matrix> beside;
    const PartLevel* row = nullptr;
    for (int j = 0; j < column.raw_size; ++j) {
      auto place = at(pattern.begins[at(column.raw_begin + j)]);
      for (const int i : pattern.rows_of(column.raw_begin + j)) {
        double& to = raw.beside[place++];
        if (i < column.raw_begin + column.raw_size) {
          to = own(i - column.raw_begin, j);
          continue;
        }
        if (j > 0) continue;
        // The level's first column computes the elements of all its columns.
        const auto after = std::ranges::upper_bound(levels, i, {}, &PartLevel::raw_begin);
        if (row != &*std::prev(after) || !beside) {
          row = &*std::prev(after);
          beside = block(*row, column);
        }
        for (int k = 0; k < column.raw_size; ++k)
          raw.beside[at(pattern.find(i, column.raw_begin + k))] = (*beside)(i - row->raw_begin, k);
      }
    }
  }
}

/// M V M' by blocks; M is the identity on the part, except for factor smooths. `pattern`: the result's.
PartedMatrix raw_covariance(const Design& design, const PartedMatrix& covariance,
                            const std::shared_ptr<const SparsePattern>& pattern) {
  const bool curves = design.parts_curves();
  PartedMatrix raw(design.raw_size, design.parted_columns, curves ? pattern : covariance.pattern());
  if (curves) {
    add_curves(design, covariance, raw);
  } else {
    raw.diagonal = covariance.diagonal;
    raw.beside = covariance.beside;
  }
  const int core_size = covariance.core.rows();
  Matrix half(core_size, raw.core.rows());  // V M'
  Matrix border(covariance.border.rows(), raw.core.rows());
  const auto for_each_block = [&](const auto& use) {
    for (const CoefBlock& block : design.blocks) {
      if (!design.parted_columns.has(block.raw_begin))
        use(block, covariance.in_core(block.coef_begin), raw.in_core(block.raw_begin));
    }
  };
  const auto add_from_right = [](const Matrix& from, const CoefBlock& block, int coef_begin, int raw_begin,
                                 Matrix& to) {
    Matrix part = submatrix(from, 0, from.rows(), coef_begin, block.coef_size);
    part = block.times_transposed_map(std::move(part));
    for (int j = 0; j < part.cols(); ++j) add_multiple(to.column(raw_begin + j), 1, part.column(j));
  };
  for_each_block([&](const CoefBlock& block, int coef_begin, int raw_begin) {
    add_from_right(covariance.core, block, coef_begin, raw_begin, half);
    if (raw.is_parted()) add_from_right(covariance.border, block, coef_begin, raw_begin, border);
  });
  for_each_block([&](const CoefBlock& block, int coef_begin, int raw_begin) {
    Matrix part = submatrix(half, coef_begin, block.coef_size, 0, half.cols());
    part = block.map_times(std::move(part));
    for (int j = 0; j < part.cols(); ++j)
      add_multiple(raw.core.column(j).subspan(static_cast<std::size_t>(raw_begin),
                                              static_cast<std::size_t>(part.rows())),
                   1, part.column(j));
  });
  if (!curves) {
    raw.border = std::move(border);
    return raw;
  }
  for (const CoefBlock& block : design.blocks) {
    if (!design.parted_columns.has(block.raw_begin)) continue;
    Matrix part =
        submatrix(border, covariance.part().in_part(block.coef_begin), block.coef_size, 0, border.cols());
    assign(raw.border, design.parted_columns.in_part(block.raw_begin), 0, block.map_times(std::move(part)));
  }
  return raw;
}

}  // namespace

std::vector<double> variance_form(const Design& design, const RowLayout& layout,
                                  const PartedMatrix& covariance) {
  return layout.packed(raw_covariance(design, covariance, layout.pattern()));
}

}  // namespace TESSERA_NAMESPACE::gam
