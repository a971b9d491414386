// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/variance_form.hpp"

#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <cstddef>
#include <memory>
#include <utility>

namespace tessera::gam {
namespace {

/// The elements of the part where it is a factor smooth, level by level.
void add_curves(const Design& design, const PartedMatrix& covariance, PartedMatrix& raw) {
  for (const CoefBlock& block : design.blocks) {
    if (!design.parted_columns.has(block.raw_begin)) continue;
    const int size = block.map.cols();
    Matrix own(size, size);
    for (int copy = 0; copy < block.copies; ++copy) {
      const int begin = block.coef_begin + copy * size;
      for (int j = 0; j < size; ++j) {
        for (int i = j; i < size; ++i) own(i, j) = own(j, i) = covariance(begin + i, begin + j);
      }
      const Matrix level = multiply(block.map, multiply_nt(own, block.map));
      const int first = block.raw_begin + copy * block.map.rows();
      for (int j = 0; j < level.cols(); ++j) {
        for (int i = j; i < level.rows(); ++i) {
          if (raw.has(first + i, first + j)) raw.set(first + i, first + j, level(i, j));
        }
      }
    }
  }
}

/// M V M', block by block; M is the identity on the part unless that is a factor smooth. `pattern`: of the
/// part of the result.
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

}  // namespace tessera::gam
