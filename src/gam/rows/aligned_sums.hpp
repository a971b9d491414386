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

/// Sums of products whose row term gives one or four nonzeros, and whose column term gives four neighbours,
/// in an order of their own: a run of four sums lies where a register of four does.
///
/// Neighbouring rows of a table add to runs that overlap: a processor waits for the store of the one before
/// it loads the other, unless both are at the same address. So a product has four matrices, one for each
/// remainder of the run's first column by four, in which runs are aligned; two of them are then the same or
/// have nothing in common. The four are added up at the end.
class AlignedSums {
 public:
  explicit AlignedSums(const RowLayout& layout);

  /// Whether so many rows are worth the folding.
  [[nodiscard]] bool worth(std::size_t rows) const noexcept;
  /// Whether the sums of this product of the layout are here.
  [[nodiscard]] bool has(const Product& product) const noexcept { return place_of(product).lines > 0; }
  /// Begins at zero.
  void clear(std::span<const Product> products);
  /// Adds what some rows give to a product: as `HostRows` does, row by row.
  void add(const Product& product, int count, const ProductSide& row, const ProductSide& column);
  /// Adds what there is of some products to `sums`.
  void fold(std::span<const Product> products, double* sums) const;

 private:
  /// One product's four matrices of `lines` x `columns`.
  struct Place {
    std::size_t begin = 0;
    int lines = 0;                         ///< 0: the product is not here
    int columns = 0;                       ///< a multiple of four
    std::array<std::ptrdiff_t, 4> runs{};  ///< of each nonzero of the row term, from the corner
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
