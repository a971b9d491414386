// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/aligned_sums.hpp"

#include "base/at.hpp"
#include "base/wide.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace tessera::gam {
namespace {

using base::at;
using Four = double __attribute__((vector_size(32)));

constexpr std::align_val_t alignment{64};
/// Matrices of more numbers leave the nearest cache, and are seldom added to.
constexpr std::ptrdiff_t largest_matrix = 4096;
/// Numbers that are folded for each row at most.
constexpr std::size_t numbers_a_row = 16;

/// What the rows of a chunk add to, from the first sum of a product on.
struct Target {
  double* sums;
  std::ptrdiff_t matrix;
  std::ptrdiff_t columns;
  const std::ptrdiff_t* runs;
};

/// The place of a row's runs but for `runs`.
inline double* corner_of(const Target& to, int row_start, int column_start) {
  const std::ptrdiff_t remainder = column_start & 3;
  return to.sums + remainder * to.matrix + row_start * to.columns + (column_start - remainder);
}

TESSERA_WIDE void add_four_runs(const Target& to, int count, const ProductSide& row,
                                const ProductSide& column) {
  const std::ptrdiff_t runs[4] = {to.runs[0], to.runs[1], to.runs[2], to.runs[3]};
  for (int r = 0; r < count; ++r) {
    const double* a = row.values + std::ptrdiff_t{4} * r;
    Four b;
    std::memcpy(&b, column.values + std::ptrdiff_t{4} * r, sizeof b);
    double* const corner = corner_of(to, row.starts[r], column.starts[r]);
    for (int i = 0; i < 4; ++i) {
      double* const out = corner + runs[i];
      Four sum;
      std::memcpy(&sum, out, sizeof sum);
      sum = sum + a[i] * b;
      std::memcpy(out, &sum, sizeof sum);
    }
  }
}

TESSERA_WIDE void add_one_run(const Target& to, int count, const ProductSide& row,
                              const ProductSide& column) {
  const std::ptrdiff_t run = to.runs[0];
  for (int r = 0; r < count; ++r) {
    Four b;
    std::memcpy(&b, column.values + std::ptrdiff_t{4} * r, sizeof b);
    double* const out = corner_of(to, row.starts[r], column.starts[r]) + run;
    Four sum;
    std::memcpy(&sum, out, sizeof sum);
    sum = sum + row.values[r] * b;
    std::memcpy(out, &sum, sizeof sum);
  }
}

}  // namespace

void AlignedSums::Free::operator()(double* memory) const noexcept {
  ::operator delete[](memory, alignment);
}

AlignedSums::AlignedSums(const RowLayout& layout) : layout_(layout), places_(layout.all_products.size()) {
  for (std::size_t p = 0; p < places_.size(); ++p) {
    const Product& product = layout.all_products[p];
    const bool taken = product.runs_of_four && product.column_nonzeros == 4 &&
                       (product.row_nonzeros == 1 || product.row_nonzeros == 4);
    Place place{.begin = size_, .lines = product.rows, .columns = (product.columns - 1) / 4 * 4 + 4};
    if (!taken || place.matrix() > largest_matrix) continue;
    // A run's line, and where in it a symmetric product has it; the column starts of that are all 0.
    for (int i = 0; i < product.row_nonzeros; ++i) {
      const std::int64_t run = layout.lines[at(product.line_begin + i)];
      const std::int64_t shift = run % product.columns;
      place.runs[at(i)] =
          run / product.columns * place.columns + shift % 4 * place.matrix() + (shift - shift % 4);
    }
    size_ += at(4 * place.matrix());
    places_[p] = place;
  }
  sums_.reset(new (alignment) double[size_]());
}

bool AlignedSums::worth(std::size_t rows) const noexcept {
  return size_ > 0 && rows * numbers_a_row >= size_;
}

void AlignedSums::clear(std::span<const Product> products) {
  for (const Product& product : products) {
    const Place& place = place_of(product);
    std::fill_n(sums_.get() + place.begin, 4 * place.matrix(), 0.0);
  }
}

void AlignedSums::add(const Product& product, int count, const ProductSide& row, const ProductSide& column) {
  const Place& place = place_of(product);
  const Target to{sums_.get() + place.begin, place.matrix(), place.columns, place.runs.data()};
  if (product.row_nonzeros == 4)
    add_four_runs(to, count, row, column);
  else
    add_one_run(to, count, row, column);
}

void AlignedSums::fold(std::span<const Product> products, double* sums) const {
  for (const Product& product : products) {
    const Place& place = place_of(product);
    const double* const first = sums_.get() + place.begin;
    for (int remainder = 0; place.lines > 0 && remainder < 4; ++remainder) {
      const double* from = first + remainder * place.matrix();
      for (int line = 0; line < place.lines; ++line, from += place.columns) {
        double* const to = sums + product.begin + std::int64_t{line} * product.columns + remainder;
        const int count = std::min(place.columns, product.columns - remainder);
        for (int k = 0; k < count; ++k) to[k] += from[k];
      }
    }
  }
}

}  // namespace tessera::gam
