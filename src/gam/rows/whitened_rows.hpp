// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/chunk.hpp"
#include "gam/rows/layout.hpp"
#include "gam/rows/products.hpp"
#include "gam/rows/series.hpp"

#include <cstdint>
#include <span>
#include <vector>

/// The transformed rows of a chunk (series.hpp), on the host. A row and the one before it may have their
/// nonzeros in different columns of a term: the transformed row then has two halves, each with its own start.
/// Where both are in the same columns, as in a covariate that changes little from row to row, they are
/// subtracted before anything is multiplied, and no digit is lost to X'WX.
namespace TESSERA_NAMESPACE::gam {

class WhitenedRows {
 public:
  explicit WhitenedRows(const RowLayout& layout);

  /// The chunk that follows begins the job.
  void begin_at_first() { has_before_ = false; }
  /// The last row of `chunk`, with the root of its working weight, comes before the first of the next one.
  void keep_last(const RowChunk& chunk, double root);
  /// Transforms the rows of a chunk, of which `begins` tells where a series begins.
  void transform(const RowChunk& chunk, std::span<const double> roots, std::span<const std::uint8_t> begins,
                 NeighbourWeights weights);

  /// The transformed working residual of a row.
  [[nodiscard]] double residual(int row) const;
  /// Calls `add(row side, column side)` for the halves of the product's terms that there are in the chunk.
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
  /// A row's values, with the starts of its placements; one row of each.
  struct Half {
    std::vector<double> values;
    std::vector<int> starts;
  };

  [[nodiscard]] bool is_apart(int term) const { return apart_[static_cast<std::size_t>(term)] != 0; }
  [[nodiscard]] ProductSide side(bool before, int term, int placement) const;
  void transform_term(const RowChunk& chunk, int term);

  LayoutView view_;
  std::vector<NeighbourWeights> factors_;  ///< of the values of each row of the chunk
  Half own_;     ///< of the chunk's rows, with what is in the same columns of the row before
  Half before_;  ///< of the rows before them; zeros where that is in `own_`
  std::vector<std::uint8_t> apart_;  ///< of each term: some row of the chunk has two halves
  bool has_before_ = false;
  double last_root_ = 0;
  Half last_;  ///< of the row before the chunk, not transformed
};

}  // namespace TESSERA_NAMESPACE::gam
