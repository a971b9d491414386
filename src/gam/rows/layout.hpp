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

/// The model matrix as flat tables for CPU and GPU, and the layout of the vector of sums that a pass reduces.
///
/// In a row, every term has a few values (its nonzeros), and every `Placement` of the term has one start (the
/// index of the first nonzero). A `Product` of terms a and b adds w a_i b_j at `(start_a + offset_a[i]) *
/// columns + start_b + offset_b[j]`. For P-splines with k = 20, a row adds to 16 of 20 x 20 sums.
///
/// A factor in both terms of a product has the same level in both, so the column term omits the factor: s(x,
/// by = f) with s(z, by = f) needs levels x 20 x 20 sums instead of (levels x 20)^2.
///
/// A term's product with itself is a band, because the nonzeros of a spline are at most three columns apart.
/// Line p has the 7 columns around p; for te(x, z) it has 4 x 7, because earlier columns in the slower margin
/// are below the diagonal. For te(x, z, bs = "ps") with k = 30, the band is 1/32 of the square.
///
/// For correlated rows, the two sides of a product may come from two rows (whitened_rows.hpp). Such a product
/// has all pairs of columns, except those of different levels of a factor that is constant in each series.
namespace TESSERA_NAMESPACE::gam {

/// Tables and sums of one design. The vector of sums has four scalars (see `RowOutcome`), the gradient, and
/// the products of every pair of terms. A pass reduces a prefix, or only scalars (`PassKind::parameters`).
class RowLayout {
 public:
  static constexpr int scalar_count = row_scalar_count;

  /// `parameters`: number of the family's parameters. `pairs`: pairs of levels of the part's random effects;
  /// must outlive the layout; null: products of these effects are not summed. `series`: null or uncorrelated
  /// if both sides of a product come from one row. `several`: the family is a `SeveralFamily`.
  explicit RowLayout(const Design& design, std::size_t parameters = 0, const LevelPairs* pairs = nullptr,
                     const Series* series = nullptr, bool several = false);

  [[nodiscard]] LayoutView view() const noexcept;
  /// Number of scalars in a pass.
  [[nodiscard]] int scalars(PassKind kind) const noexcept;
  /// Length of the vector that a pass reduces.
  [[nodiscard]] std::size_t width(PassKind kind) const noexcept;
  [[nodiscard]] std::span<const Product> products(PassKind kind) const noexcept;
  /// Products of pairs of terms, and of each term with itself; none with the residual.
  [[nodiscard]] std::span<const Product> products_of_terms() const noexcept;

  /// Sums of a start or step.
  [[nodiscard]] RawSums sums(std::span<const double> reduced) const;
  [[nodiscard]] RawMoments moments(std::span<const double> reduced) const;
  [[nodiscard]] static RawDeviance deviance(std::span<const double> reduced);
  [[nodiscard]] static RawGoodness goodness(std::span<const double> reduced);
  [[nodiscard]] RawLikelihood likelihood(std::span<const double> reduced) const;
  /// Packs a symmetric quadratic form in the order of the vector of sums: its dot product with a row's
  /// products is r' form r. Zero if nothing is summed; NaN for pairs of levels that `form` does not store.
  [[nodiscard]] std::vector<double> packed(const PartedMatrix& form) const;

  ComponentTables tables;
  std::vector<TermTable> terms;
  std::vector<Placement> placements;
  std::vector<Product> all_products;  ///< the residual with each term, then pairs of terms
  std::vector<int> strides;
  std::vector<int> offsets;
  std::vector<std::int64_t> lines;

  /// Number of formulas: one for each linear predictor, and one for each set of shared terms.
  [[nodiscard]] int predictors() const noexcept { return predictors_; }
  /// `Design::readers`, if the family is a `SeveralFamily`.
  [[nodiscard]] const std::vector<std::vector<int>>& readers() const noexcept { return readers_; }
  /// True if the family is a `SeveralFamily`, which may have only one linear predictor.
  [[nodiscard]] bool several() const noexcept { return several_; }
  /// Number of weight planes of a batch (see `SliceBatchView`), and the plane of a product.
  [[nodiscard]] int planes() const noexcept;
  [[nodiscard]] int plane_of(const Product& product, PassKind kind) const noexcept;

  /// Pairs of the part's raw columns that are nonzero in the same row; null if the part is diagonal.
  [[nodiscard]] const std::shared_ptr<const SparsePattern>& pattern() const noexcept { return pattern_; }

  /// Calls `use(i, j, sum)` for pairs of a row's nonzeros in two effects of the part. The nonzeros begin at
  /// `row_start` and `column_start`; `sum` is an index within the product's sums.
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
  /// A spline or dense component in a term's band.
  struct BandSpline {
    int component;  ///< index among the term's components
    int stride, size;
    int before;     ///< columns before the line's own column
    int count;      ///< all columns of a line
    bool is_dense;  ///< the line has all columns of the component
  };

  [[nodiscard]] std::vector<BandSpline> band_of(const TermTable& term) const;
  void add_placement(const RawTerm& term, std::uint64_t mask);
  void add_product(int row_term, int column_term, std::uint64_t mask);
  void add_square(int index, const RawTerm& term);
  void add_pairs();
  [[nodiscard]] SparsePattern pattern_of_squares() const;
  void take_in(Product product, int columns);
  /// Calls `use(index, i, j)` once for each summed pair of raw columns; `index` is in the vector of sums.
  template <class Use>
  void for_each_sum(const Use& use) const;
  template <class Use>
  void for_each_of_pair(const Product& product, const Use& use) const;
  template <class Use>
  void for_each_of_band(const Product& product, const Use& use) const;

  /// By placement: bit i is set if the placement omits component i of its term.
  std::vector<std::uint64_t> left_out_;
  std::vector<int> component_sizes_;
  int parameters_;
  int predictors_;
  bool several_;
  std::vector<std::vector<int>> readers_;
  int raw_size_ = 0;
  Part parted_columns_;
  const LevelPairs* pairs_;
  std::shared_ptr<const SparsePattern> pattern_;
  std::int64_t pairs_begin_ = 0;  ///< index of the first sum of a pair of levels
  int values_per_row_ = 0;
  std::int64_t width_ = scalar_count;
};

}  // namespace TESSERA_NAMESPACE::gam
