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

/// Sums of products whose row term has one or four nonzeros and whose column term has four neighbours, laid
/// out so that a run of four sums is aligned to a vector register.
///
/// Neighbouring rows of a table add to overlapping runs: the processor stalls on store-to-load forwarding
/// unless both are at the same address. So a product has four matrices, one for each remainder of the run's
/// first column modulo four, in which runs are aligned: two runs are then identical or disjoint. The four
/// matrices are added up at the end.
class AlignedSums {
 public:
  explicit AlignedSums(const RowLayout& layout);

  /// Whether summing this many rows here saves more than `fold` costs.
  [[nodiscard]] bool worth(std::size_t rows) const noexcept;
  /// Whether this product of the layout has its sums here.
  [[nodiscard]] bool has(const Product& product) const noexcept { return place_of(product).lines > 0; }
  /// Sets the sums to zero.
  void clear(std::span<const Product> products);
  /// Adds the contributions of some rows to a product, as `HostRows` does row by row.
  void add(const Product& product, int count, const ProductSide& row, const ProductSide& column);
  /// Adds the sums of some products to `sums`.
  void fold(std::span<const Product> products, double* sums) const;

 private:
  /// One product's four matrices of `lines` x `columns`.
  struct Place {
    std::size_t begin = 0;
    int lines = 0;                         ///< 0: the product has no sums here
    int columns = 0;                       ///< a multiple of four
    std::array<std::ptrdiff_t, 4> runs{};  ///< offset of each nonzero of the row term from the corner
    [[nodiscard]] std::ptrdiff_t matrix() const noexcept { return std::ptrdiff_t{lines} * columns; }
  };
  [[nodiscard]] const Place& place_of(const Product& product) const noexcept {
    return places_[static_cast<std::size_t>(&product - layout_.all_products.data())];
  }
  struct Free {
    void operator()(double* memory) const noexcept;
  };

  const RowLayout& layout_;
  std::vector<Place> places_;  ///< place of each product of the layout
  std::size_t size_ = 0;
  std::unique_ptr<double[], Free> sums_;
};

}  // namespace TESSERA_NAMESPACE::gam
