// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/chunk.hpp"
#include "gam/rows/layout.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Sums of each `Product` whose row term has one or four nonzeros, and whose column term has four adjacent
/// nonzeros. A run of four sums is aligned to a vector register.
///
/// Neighbouring rows of a table add to overlapping runs. The CPU then stalls on store-to-load forwarding
/// unless both runs have the same address. A product therefore has four matrices, by the remainder modulo 4
/// of the run's first column. Runs in a matrix are identical or disjoint. `fold` adds the matrices.
class AlignedSums {
 public:
  explicit AlignedSums(const RowLayout& layout);

  /// True if summing this many rows here saves more than `fold` costs.
  [[nodiscard]] bool worth(std::size_t rows) const noexcept;
  /// True if the sums of `product` are kept here.
  [[nodiscard]] bool has(const Product& product) const noexcept { return place_of(product).lines > 0; }
  void clear(std::span<const Product> products);
  /// Adds the products of `count` rows.
  void add(const Product& product, int count, const ProductSide& row, const ProductSide& column);
  /// Adds the sums of `products` to `sums`, in the layout's order.
  void fold(std::span<const Product> products, double* sums) const;

 private:
  /// The four matrices of one product, `lines` x `columns` each.
  struct Place {
    std::size_t begin = 0;
    int lines = 0;                         ///< 0: the product has no sums here
    int columns = 0;                       ///< a multiple of four
    std::array<std::ptrdiff_t, 4> runs{};  ///< offset of each nonzero of the row term
    [[nodiscard]] std::ptrdiff_t matrix() const noexcept { return std::ptrdiff_t{lines} * columns; }
  };
  [[nodiscard]] const Place& place_of(const Product& product) const noexcept {
    return places_[static_cast<std::size_t>(&product - layout_.all_products.data())];
  }
  struct Free {
    void operator()(double* memory) const noexcept;
  };

  const RowLayout& layout_;
  std::vector<Place> places_;  ///< by product of the layout
  std::size_t size_ = 0;
  std::unique_ptr<double[], Free> sums_;
};

}  // namespace TESSERA_NAMESPACE::gam
