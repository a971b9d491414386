// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/chunk.hpp"
#include "gam/rows/layout.hpp"
#include "gam/rows/products.hpp"
#include "gam/rows/series.hpp"

#include <cstdint>
#include <span>
#include <vector>

/// The transformed rows of a chunk (series.hpp). CPU only. If a row and its predecessor have their nonzeros
/// in different columns of a term, the transformed row has two halves, each with its own start. If the
/// columns are equal, as for slowly varying covariates, the values are subtracted before any product, and
/// X'WX loses no digits.
namespace TESSERA_NAMESPACE::gam {

class WhitenedRows {
 public:
  explicit WhitenedRows(const RowLayout& layout);

  /// Call before the chunk with the job's first rows: it has no predecessor.
  void begin_at_first() { has_before_ = false; }
  /// Keeps the last row of `chunk`, with the square root of its working weight, as predecessor of the next
  /// chunk.
  void keep_last(const RowChunk& chunk, double root);
  /// Transforms the rows of a chunk; `begins` marks the rows that start a series.
  void transform(const RowChunk& chunk, std::span<const double> roots, std::span<const std::uint8_t> begins,
                 NeighbourWeights weights);

  /// The transformed working residual of a row.
  [[nodiscard]] double residual(int row) const;
  /// Calls `add(row side, column side)` for the pairs of halves of the product's terms in the chunk.
  template <class Add>
  void for_each_half(const Product& product, const Add& add) const {
    for (const bool row_before : {false, true}) {
      for (const bool column_before : {false, true}) {
        if ((row_before && !is_apart(product.row_term)) || (column_before && !is_apart(product.column_term)))
          continue;
        add(side(row_before, product.row_term, product.row_placement),
            side(column_before, product.column_term, product.column_placement));
      }
    }
  }

 private:
  /// Values, and starts of placements, of the chunk's rows or of their predecessors.
  struct Half {
    std::vector<double> values;
    std::vector<int> starts;
  };

  [[nodiscard]] bool is_apart(int term) const { return apart_[static_cast<std::size_t>(term)] != 0; }
  [[nodiscard]] ProductSide side(bool before, int term, int placement) const;
  void transform_term(const RowChunk& chunk, int term);

  LayoutView view_;
  std::vector<NeighbourWeights> factors_;  ///< by row of the chunk
  Half own_;     ///< the chunk's rows; they include the predecessor's part where columns are equal
  Half before_;  ///< their predecessors; zeros where `own_` includes them
  std::vector<std::uint8_t> apart_;  ///< for each term, whether some row of the chunk has two halves
  bool has_before_ = false;
  double last_root_ = 0;
  Half last_;  ///< the last row before the chunk, not transformed
};

}  // namespace TESSERA_NAMESPACE::gam
