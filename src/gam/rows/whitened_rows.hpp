// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/chunk.hpp"
#include "gam/rows/layout.hpp"
#include "gam/rows/products.hpp"
#include "gam/rows/series.hpp"

#include <cstdint>
#include <span>
#include <vector>

/// The whitened rows of a chunk (series.hpp). CPU only. If a row and its predecessor have their nonzeros in
/// different columns of a term, the whitened row has two halves, each with its own start. If the columns are
/// equal, the values are subtracted before any product, so X'WX loses no digits to cancellation.
namespace TESSERA_NAMESPACE::gam {

class WhitenedRows {
 public:
  explicit WhitenedRows(const RowLayout& layout);

  /// Forgets the predecessor.
  void forget_predecessor() { has_before_ = false; }
  /// Keeps the chunk's last row as the next chunk's predecessor. `root`: square root of its weight.
  void keep_last(const RowChunk& chunk, double root);
  /// Whitens the chunk; `roots`: square roots of the working weights; `begins`: rows that start a series.
  void transform(const RowChunk& chunk, std::span<const double> roots, std::span<const std::uint8_t> begins,
                 NeighbourWeights weights);

  /// The whitened working residual of a row.
  [[nodiscard]] double residual(int row) const;
  /// Calls `add(row side, column side)` for each pair of halves of the product's terms.
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
  struct Half {
    std::vector<double> values;
    std::vector<int> starts;
  };

  [[nodiscard]] bool is_apart(int term) const { return apart_[static_cast<std::size_t>(term)] != 0; }
  [[nodiscard]] ProductSide side(bool before, int term, int placement) const;
  void transform_term(const RowChunk& chunk, int term);

  LayoutView view_;
  std::vector<NeighbourWeights> factors_;  ///< by row of the chunk
  Half own_;                               ///< the chunk's rows, plus predecessors in equal columns
  Half before_;                            ///< predecessors in other columns; otherwise zeros
  std::vector<std::uint8_t> apart_;        ///< by term: a row of the chunk has two halves
  bool has_before_ = false;
  double last_root_ = 0;
  Half last_;  ///< the last row before the chunk, not whitened
};

}  // namespace TESSERA_NAMESPACE::gam
