// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "design.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// The model matrix as flat tables that a host thread and a GPU read alike, and the layout of the vector
/// of sums that a pass reduces.
///
/// A row gives every term a few values (its nonzeros) and every placement of the term one place (where
/// the first of them lies). One `Product` of terms a and b then adds w a_i b_j at
/// `(place_a + offset_a[i]) * columns + place_b + offset_b[j]`. For s(x) with k = 20 and itself these
/// are 16 additions in a square of 20 x 20, whatever the row.
///
/// A factor that occurs in both terms of a product has the same level in both, so the column term is
/// placed without it: s(x, by = f) with itself needs levels x 20 x 20 sums and not (levels x 20)^2, and
/// a factor with itself its diagonal alone.
namespace tessera::fit {

/// One margin, its two straight continuations being cells like the others. Members are offsets into the
/// layout's numbers.
struct MarginTable {
  int cells = 0;
  int stride = 1;
  bool uniform = false;
  bool cyclic = false;
  double begin = 0;
  double end = 0;
  double inverse_step = 0;          ///< cells / (end - begin)
  std::int64_t breaks = 0;          ///< cells + 1
  std::int64_t origins = 0;         ///< cells + 2: where each cell's t is 0
  std::int64_t inverse_widths = 0;  ///< cells + 2
  std::int64_t cubics = 0;          ///< cells + 2, each 4 powers of t by 4 values
};

struct ComponentTable {
  Component::Kind kind = Component::Kind::numeric;
  int variable = 0;
  MarginTable margin;
};

/// A raw term. The last one of a layout stands for the working residual: a term without components.
struct TermTable {
  int component_begin = 0;
  int component_end = 0;
  int placement_begin = 0;  ///< the first of them leaves no component out
  int placement_end = 0;
  int nonzeros = 1;
  int raw_begin = 0;
  std::int64_t value_begin = 0;  ///< nonzeros of the terms before this one
};

/// Where the nonzeros of a term lie when some of its factors are left out.
struct Placement {
  int size = 1;          ///< raw places
  int stride_begin = 0;  ///< one stride a component; 0: left out
  int offset_begin = 0;  ///< one offset a nonzero, increasing
};

/// The sums of one pair of terms: a matrix of `rows` x `columns`, row by row.
struct Product {
  int row_term = 0;
  int column_term = 0;
  int row_placement = 0;
  int column_placement = 0;
  int rows = 0;
  int columns = 0;
  int row_nonzeros = 1;
  int column_nonzeros = 1;
  bool symmetric = false;     ///< a term with itself: only j >= i need be right
  bool runs_of_four = false;  ///< column offsets come in fours of neighbours
  std::int64_t begin = 0;     ///< in the vector of sums
};

/// The layout as plain pointers, valid on the side that made it.
struct LayoutView {
  const double* numbers = nullptr;
  const ComponentTable* components = nullptr;
  const TermTable* terms = nullptr;
  const Placement* placements = nullptr;
  const Product* products = nullptr;
  const int* strides = nullptr;
  const int* offsets = nullptr;
  int term_count = 0;  ///< without the residual, which is `terms[term_count]`
  int placement_count = 0;
  int values_per_row = 0;  ///< nonzeros of all terms, and one for the residual
};

/// What a pass sums.
enum class PassKind { moments, start, step, deviance };

struct RawSums;
struct RawMoments;
struct RawDeviance;

/// Tables and sums of one design. The vector of sums begins with four scalars (see `RowOutcome`), then
/// comes the gradient, then the products of every pair of terms: each kind of pass reduces a prefix.
class RowLayout {
 public:
  static constexpr int scalar_count = 4;

  explicit RowLayout(const Design& design);

  [[nodiscard]] LayoutView view() const noexcept;
  /// Length of the vector that a pass of this kind reduces.
  [[nodiscard]] std::size_t width(PassKind kind) const noexcept;
  /// Products that a pass of this kind forms.
  [[nodiscard]] std::span<const Product> products(PassKind kind) const noexcept;

  /// Of a start or a step.
  [[nodiscard]] RawSums sums(std::span<const double> reduced) const;
  [[nodiscard]] RawMoments moments(std::span<const double> reduced) const;
  [[nodiscard]] static RawDeviance deviance(std::span<const double> reduced);

  std::vector<double> numbers;
  std::vector<ComponentTable> components;
  std::vector<TermTable> terms;
  std::vector<Placement> placements;
  std::vector<Product> all_products;  ///< of the residual with each term, then of each pair of terms
  std::vector<int> strides;
  std::vector<int> offsets;

 private:
  void add_component(const Component& component);
  void add_placement(const RawTerm& term, std::uint64_t left_out);
  void add_product(int row_term, int column_term, std::uint64_t left_out);
  void unpack(const Product& product, std::span<const double> reduced, Matrix& gram) const;

  /// For each placement, which components it leaves out (bit i: the i-th of its term).
  std::vector<std::uint64_t> left_out_;
  std::vector<int> component_sizes_;
  int raw_size_ = 0;
  int values_per_row_ = 0;
  std::int64_t width_ = scalar_count;
};

}  // namespace tessera::fit
