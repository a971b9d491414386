// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/variance_form.hpp"

#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <cstddef>
#include <utility>

namespace tessera::gam {
namespace {

/// M V M', block by block; M is the identity on the part.
PartedMatrix raw_covariance(const Design& design, const PartedMatrix& covariance) {
  PartedMatrix raw(design.raw_size, design.parted_columns, covariance.pattern());
  raw.diagonal = covariance.diagonal;
  raw.beside = covariance.beside;
  const int core_size = covariance.core.rows();
  Matrix half(core_size, raw.core.rows());  // V M'
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
    if (raw.is_parted()) add_from_right(covariance.border, block, coef_begin, raw_begin, raw.border);
  });
  for_each_block([&](const CoefBlock& block, int coef_begin, int raw_begin) {
    Matrix part = submatrix(half, coef_begin, block.coef_size, 0, half.cols());
    part = block.map_times(std::move(part));
    for (int j = 0; j < part.cols(); ++j)
      add_multiple(raw.core.column(j).subspan(static_cast<std::size_t>(raw_begin),
                                              static_cast<std::size_t>(part.rows())),
                   1, part.column(j));
  });
  return raw;
}

}  // namespace

std::vector<double> variance_form(const Design& design, const RowLayout& layout,
                                  const PartedMatrix& covariance) {
  return layout.packed(raw_covariance(design, covariance));
}

}  // namespace tessera::gam
