// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/rows/level_pairs.hpp"
#include "gam/rows/row_sums.hpp"
#include "gam/rows/series.hpp"
#include "gam/rows/tables.hpp"
#include "gam/terms/component_tables.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// The model matrix as flat tables that a host thread and a GPU read alike, and the layout of the vector
/// of sums that a pass reduces.
///
/// In a row, every term has a few values (its nonzeros), and every `Placement` of the term has one start (the
/// position of the first nonzero). A `Product` of terms a and b adds w a_i b_j at `(place_a + offset_a[i]) *
/// columns + place_b + offset_b[j]`. For s(x) with k = 20 and s(z) with k = 20 these are 16 additions in a
/// square of 20 x 20, whatever the row.
///
/// A factor in both terms of a product has the same level in both, so the column term omits it: s(x, by = f)
/// with s(z, by = f) needs levels x 20 x 20 sums instead of (levels x 20)^2.
///
/// A term with itself needs only a band. All nonzeros of a spline lie within four neighbours, so two of them
/// are at most three apart: line p of the product has the 7 columns around p, and 4 x 7 for te(x, z), since
/// columns before p in the slower margin are below the diagonal. For te(x, z) with k = 30 the band is 1/37 of
/// the square; the other sums are neither formed nor reduced.
///
/// For correlated rows, the two sides of a product may come from two rows (whitened_rows.hpp): it has all
/// pairs of columns, except those of different levels of a factor that is constant in each series.
namespace TESSERA_NAMESPACE::gam {

/// Tables and sums of one design. The vector of sums begins with four scalars (see `RowOutcome`), followed by
/// the gradient and the products of every pair of terms: each kind of pass reduces a prefix. Only a pass for
/// the family's parameters has other scalars, and nothing else.
class RowLayout {
 public:
  static constexpr int scalar_count = row_scalar_count;

  /// `parameters`: the family's number of parameters. `pairs`: the pairs of levels of the random effects in
  /// the design's part; must outlive the layout; null: products of these effects are not summed. `series`:
  /// the rows' series; null or uncorrelated: both sides of a product come from one row. `several`: the family
  /// is a `SeveralFamily`.
  explicit RowLayout(const Design& design, std::size_t parameters = 0, const LevelPairs* pairs = nullptr,
                     const Series* series = nullptr, bool several = false);

  [[nodiscard]] LayoutView view() const noexcept;
  /// Number of scalars that a pass of this kind sums.
  [[nodiscard]] int scalars(PassKind kind) const noexcept;
  /// Length of the vector that a pass of this kind reduces.
  [[nodiscard]] std::size_t width(PassKind kind) const noexcept;
  /// Products that a pass of this kind forms.
  [[nodiscard]] std::span<const Product> products(PassKind kind) const noexcept;
  /// The products of each two terms of the model, and of each term with itself, without the residual.
  [[nodiscard]] std::span<const Product> products_of_terms() const noexcept;

  /// The sums of a start or a step.
  [[nodiscard]] RawSums sums(std::span<const double> reduced) const;
  [[nodiscard]] RawMoments moments(std::span<const double> reduced) const;
  [[nodiscard]] static RawDeviance deviance(std::span<const double> reduced);
  [[nodiscard]] static RawGoodness goodness(std::span<const double> reduced);
  [[nodiscard]] RawLikelihood likelihood(std::span<const double> reduced) const;
  /// A symmetric form over raw columns in the order of the vector of sums: its dot product with a row's
  /// products is r' form r. Zero where nothing is summed, and NaN for a pair of levels that the form lacks.
  [[nodiscard]] std::vector<double> packed(const PartedMatrix& form) const;

  ComponentTables tables;
  std::vector<TermTable> terms;
  std::vector<Placement> placements;
  std::vector<Product> all_products;  ///< products of the residual with each term, then of each pair of terms
  std::vector<int> strides;
  std::vector<int> offsets;
  std::vector<std::int64_t> lines;

  /// Number of formulas: one for each linear predictor, and those of shared terms.
  [[nodiscard]] int predictors() const noexcept { return predictors_; }
  /// `Design::readers`, if the family is a `SeveralFamily`.
  [[nodiscard]] const std::vector<std::vector<int>>& readers() const noexcept { return readers_; }
  /// Whether the family is a `SeveralFamily`, which may have a single linear predictor.
  [[nodiscard]] bool several() const noexcept { return several_; }
  /// Number of planes of a batch's weights on a device (see `SliceBatchView`), and the plane of a product.
  [[nodiscard]] int planes() const noexcept;
  [[nodiscard]] int plane_of(const Product& product, PassKind kind) const noexcept;

  /// The pairs of raw columns of the eliminated part that are nonzero in the same row, by position within the
  /// part. Null: there is no such pair, and the part is diagonal.
  [[nodiscard]] const std::shared_ptr<const SparsePattern>& pattern() const noexcept { return pattern_; }

  /// Calls `use(i, j, sum)` for pairs of nonzeros of a row in two effects of the part that start at these
  /// columns of the terms; `sum` is an index within the product's sums.
  template <class Use>
  void for_each_of_pair(const Product& product, std::size_t row, int row_start, int column_start,
                        const Use& use) const {
    const auto nonzeros = [&](int placement, int count) {
      const auto begin =
          static_cast<std::size_t>(placements[static_cast<std::size_t>(placement)].offset_begin);
      return std::span(offsets).subspan(begin, static_cast<std::size_t>(count));
    };
    pairs_->for_each_of_row(static_cast<std::size_t>(product.pairs), row, row_start,
                            nonzeros(product.row_placement, product.row_nonzeros), column_start,
                            nonzeros(product.column_placement, product.column_nonzeros), use);
  }

 private:
  /// A spline or dense component in the band of a term.
  struct BandSpline {
    int component;  ///< index among the term's components
    int stride, size;
    int before;     ///< columns of a line before the line's own column
    int count;      ///< all columns of a line
    bool is_dense;  ///< whether the line has all columns of the component
  };

  [[nodiscard]] std::vector<BandSpline> band_of(const TermTable& term) const;
  void add_placement(const RawTerm& term, std::uint64_t mask);
  void add_product(int row_term, int column_term, std::uint64_t mask);
  void add_square(int index, const RawTerm& term);
  void add_pairs();
  [[nodiscard]] SparsePattern pattern_of_squares() const;
  void take_in(Product product, int columns);
  /// Calls `use(index among the sums, i, j)` once for each pair of raw columns i and j that can occur in a
  /// row.
  template <class Use>
  void for_each_sum(const Use& use) const;
  template <class Use>
  void for_each_of_pair(const Product& product, const Use& use) const;
  template <class Use>
  void for_each_of_band(const Product& product, const Use& use) const;

  /// The components that each placement omits, as a bit mask: bit i is for component i of its term.
  std::vector<std::uint64_t> left_out_;
  std::vector<int> component_sizes_;
  int parameters_;
  int predictors_;
  bool several_;
  std::vector<std::vector<int>> readers_;
  int raw_size_ = 0;
  Part parted_columns_;  ///< the part of the design
  const LevelPairs* pairs_;
  std::shared_ptr<const SparsePattern> pattern_;
  std::int64_t pairs_begin_ = 0;  ///< where the sums over pairs of levels begin
  int values_per_row_ = 0;
  std::int64_t width_ = scalar_count;
};

}  // namespace TESSERA_NAMESPACE::gam
