// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/aligned_sums.hpp"

#include "base/at.hpp"

#include <algorithm>
#include <new>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

constexpr std::align_val_t alignment{64};
/// Maximum elements of a matrix: a larger one exceeds the L1 cache, and gets few additions per element.
constexpr std::ptrdiff_t largest_matrix = 4096;
/// `worth` returns true if `fold` adds at most this many elements per row.
constexpr std::size_t numbers_a_row = 16;

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
    // Offset of each run: the line, plus the column for a symmetric product (its column starts are all 0).
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
  const AlignedTarget to{sums_.get() + place.begin, static_cast<int>(place.matrix()), place.columns,
                         place.runs.data()};
  add_to_aligned(to, product.row_nonzeros, count, row, column);
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

}  // namespace TESSERA_NAMESPACE::gam
