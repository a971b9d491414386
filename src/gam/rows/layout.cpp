// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/layout.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "gam/rows/evaluation.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

bool left_out(std::uint64_t mask, int component) {
  return (mask >> component & 1) != 0;
}

/// Index of the factor component of `row` with the same variable as `component`; -1 if there is none.
int same_factor(const RawTerm& row, const Component& component) {
  if (component.kind != Component::Kind::factor) return -1;
  for (std::size_t i = 0; i < row.components.size(); ++i) {
    const Component& other = row.components[i];
    if (other.kind == Component::Kind::factor && other.variable == component.variable) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

/// Bit mask of `column`'s factors that `row` shares; for correlated rows, only those constant in each series.
std::uint64_t shared_factors(const RawTerm& row, const RawTerm& column, const Series* correlated) {
  std::uint64_t shared = 0;
  for (std::size_t i = 0; i < column.components.size(); ++i) {
    const Component& component = column.components[i];
    if (same_factor(row, component) < 0) continue;
    if (correlated == nullptr || correlated->constant[at(component.variable)] != 0)
      shared |= std::uint64_t{1} << i;
  }
  return shared;
}

/// A spline's nonzeros are at most 3 columns apart: a band has 7 columns, 4 on or above the diagonal.
constexpr int near_columns = 7;
constexpr int nearest_above = 4;

/// Offsets of a term's nonzeros; component i has stride `own[i]`.
std::vector<int> nonzero_offsets(const RawTerm& term, const std::vector<int>& own) {
  if (!term.is_dense()) return nonzero_offsets(std::span(term.components), own);
  std::vector<int> all(at(term.nonzeros));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

RowLayout::RowLayout(const Design& design, std::size_t parameters, const LevelPairs* pairs,
                     const Series* series, bool several)
    : parameters_(static_cast<int>(parameters)),
      predictors_(design.predictors()),
      several_(several),
      readers_(several ? design.readers : std::vector<std::vector<int>>()),
      raw_size_(design.raw_size),
      parted_columns_(design.parted_columns),
      pairs_(pairs) {
  const std::size_t count = design.terms.size();
  const Series* correlated = series != nullptr && series->correlated() ? series : nullptr;

  // `left_out`: components that the column term omits. The term with fewer nonzeros is the row term.
  struct Pair {
    std::size_t row, column;
    std::uint64_t left_out;
  };
  std::vector<Pair> products;
  const auto is_of_part = [&](std::size_t term) { return parted_columns_.has(design.terms[term].raw_begin); };
  std::vector<std::vector<std::uint64_t>> masks(count, std::vector<std::uint64_t>{0});
  const auto take_pair = [&](std::size_t row, std::size_t column) {
    const std::uint64_t mask = shared_factors(design.terms[row], design.terms[column], correlated);
    products.push_back({row, column, mask});
    auto& known = masks[column];
    if (std::find(known.begin(), known.end(), mask) == known.end()) known.push_back(mask);
  };
  for (std::size_t a = 0; a < count; ++a) {
    if (design.terms[a].components.size() > 64) {
      throw base::usage_error("a term of more than 64 variables is not supported: split it");
    }
    if (design.terms[a].only_combined) continue;
    if (correlated != nullptr) take_pair(a, a);
    for (std::size_t b = a + 1; b < count; ++b) {
      if (design.terms[b].only_combined || (is_of_part(a) && is_of_part(b))) continue;
      const bool swap = design.terms[b].nonzeros < design.terms[a].nonzeros;
      take_pair(swap ? b : a, swap ? a : b);
    }
  }

  for (std::size_t i = 0; i < count; ++i) {
    const RawTerm& term = design.terms[i];
    TermTable table;
    table.nonzeros = term.nonzeros;
    table.raw_begin = term.raw_begin;
    table.combined = term.combined;
    table.predictor = term.predictor;
    table.value_begin = values_per_row_;
    table.component_begin = static_cast<int>(tables.components.size());
    for (const Component& component : term.components) {
      tables.add(component);
      component_sizes_.push_back(component.raw_size());
      table.splines += component.kind == ComponentKind::spline ? 1 : 0;
      table.dense += component.kind == ComponentKind::dense ? 1 : 0;
    }
    table.component_end = static_cast<int>(tables.components.size());
    table.placement_begin = static_cast<int>(placements.size());
    for (const std::uint64_t mask : masks[i]) add_placement(term, mask);
    table.placement_end = static_cast<int>(placements.size());
    terms.push_back(table);
    values_per_row_ += term.nonzeros;
  }
  tables.finish();
  TermTable residual;
  residual.component_begin = residual.component_end = static_cast<int>(tables.components.size());
  residual.placement_begin = static_cast<int>(placements.size());
  add_placement(RawTerm{}, 0);
  residual.placement_end = static_cast<int>(placements.size());
  residual.value_begin = values_per_row_++;
  terms.push_back(residual);

  for (std::size_t i = 0; i < count; ++i) add_product(static_cast<int>(count), static_cast<int>(i), 0);
  for (std::size_t i = 0; i < count; ++i) {
    if (!design.terms[i].only_combined && correlated == nullptr)
      add_square(static_cast<int>(i), design.terms[i]);
  }
  for (const Pair& pair : products) {
    add_product(static_cast<int>(pair.row), static_cast<int>(pair.column), pair.left_out);
  }
  if (pairs_ != nullptr) {
    add_pairs();
    pattern_ = pairs_->pattern;
  } else if (design.parts_curves()) {
    pattern_ = std::make_shared<const SparsePattern>(pattern_of_squares());
  }
}

/// The pattern of a part that consists of one factor smooth.
SparsePattern RowLayout::pattern_of_squares() const {
  std::vector<std::vector<int>> rows(at(parted_columns_.size()));
  for (const Product& product : products_of_terms()) {
    if (!product.symmetric || !parted_columns_.has(terms[at(product.row_term)].raw_begin)) continue;
    for_each_of_band(product, [&](std::int64_t /*sum*/, int i, int j) {
      if (i != j && parted_columns_.has(i))
        rows[at(parted_columns_.in_part(i))].push_back(parted_columns_.in_part(j));
    });
  }
  SparsePattern pattern;
  for (std::vector<int>& column : rows) {
    std::ranges::sort(column);
    pattern.rows.insert(pattern.rows.end(), column.begin(), column.end());
    pattern.begins.push_back(std::ssize(pattern.rows));
  }
  return pattern;
}

/// Adds the products of the part's effects, in the order of the pattern. Elements of the pattern within one
/// level stay zero: their sums are in the product of `add_square`.
void RowLayout::add_pairs() {
  pairs_begin_ = width_;
  width_ += std::ssize(pairs_->pattern->rows);
  for (std::size_t i = 0; i < pairs_->terms.size(); ++i) {
    Product product;
    product.row_term = pairs_->part[at(pairs_->terms[i].first)].index;
    product.column_term = pairs_->part[at(pairs_->terms[i].second)].index;
    product.row_nonzeros = terms[at(product.row_term)].nonzeros;
    product.column_nonzeros = terms[at(product.column_term)].nonzeros;
    product.row_placement = terms[at(product.row_term)].placement_begin;
    product.column_placement = terms[at(product.column_term)].placement_begin;
    product.begin = pairs_begin_;
    product.pairs = static_cast<int>(i);
    all_products.push_back(product);
  }
}

void RowLayout::add_placement(const RawTerm& term, std::uint64_t mask) {
  Placement placement;
  placement.stride_begin = static_cast<int>(strides.size());
  placement.offset_begin = static_cast<int>(offsets.size());
  std::vector<int> own(term.components.size());
  for (std::size_t i = own.size(); i-- > 0;) {
    if (left_out(mask, static_cast<int>(i))) continue;
    own[i] = placement.size;
    placement.size *= term.components[i].raw_size();
  }
  if (term.is_dense()) placement.size = term.raw_size;
  const std::vector<int> nonzero = nonzero_offsets(term, own);
  strides.insert(strides.end(), own.begin(), own.end());
  offsets.insert(offsets.end(), nonzero.begin(), nonzero.end());
  placements.push_back(placement);
  left_out_.push_back(mask);
}

void RowLayout::add_product(int row_term, int column_term, std::uint64_t mask) {
  const TermTable& row = terms[at(row_term)];
  const TermTable& column = terms[at(column_term)];
  Product product;
  product.row_term = row_term;
  product.column_term = column_term;
  product.row_placement = row.placement_begin;
  product.column_placement = column.placement_begin;
  while (left_out_[at(product.column_placement)] != mask) ++product.column_placement;
  const Placement& rows = placements[at(product.row_placement)];
  const Placement& columns = placements[at(product.column_placement)];
  product.offset_begin = columns.offset_begin;
  product.line_begin = static_cast<int>(lines.size());
  for (int i = 0; i < row.nonzeros; ++i)
    lines.push_back(std::int64_t{offsets[at(rows.offset_begin + i)]} * columns.size);
  take_in(product, columns.size);
}

/// The band in a term's product with itself, fastest component first. A line has, for each spline, the
/// columns near its own column; for a dense component, all columns. For the slowest of several splines the
/// line starts at its own column, because earlier columns are below the diagonal.
std::vector<RowLayout::BandSpline> RowLayout::band_of(const TermTable& term) const {
  const int* own = strides.data() + placements[at(term.placement_begin)].stride_begin;
  std::vector<BandSpline> splines;
  for (int c = term.component_end; c-- > term.component_begin;) {
    const int i = c - term.component_begin;
    const int size = component_sizes_[at(c)];
    if (tables.components[at(c)].kind == ComponentKind::spline)
      splines.push_back({i, own[i], size, near_columns / 2, near_columns, false});
    if (tables.components[at(c)].kind == ComponentKind::dense)
      splines.push_back({i, own[i], size, 0, size, true});
  }
  if (splines.size() > 1 && !splines.back().is_dense) {
    splines.back().before = 0;
    splines.back().count = nearest_above;
  }
  return splines;
}

/// The product of a term with itself: line p has the columns in the band around p.
void RowLayout::add_square(int index, const RawTerm& term) {
  Product product;
  product.row_term = product.column_term = index;
  product.row_placement = terms[at(index)].placement_begin;
  product.column_placement = static_cast<int>(placements.size()) - 1;  // of the residual: starts are 0
  product.symmetric = true;

  int columns = 1;
  int before = 0;  // columns before p in a line
  std::vector<int> own(term.components.size());
  std::vector<int> relative(term.components.size());  // strides relative to p's column in the line
  for (const BandSpline& spline : band_of(terms[at(index)])) {
    own[at(spline.component)] = columns;
    relative[at(spline.component)] = spline.is_dense ? 0 : columns;
    before += spline.before * columns;
    columns *= spline.count;
  }
  if (term.is_dense()) columns = term.raw_size;
  const std::vector<int> band = nonzero_offsets(term, own);
  product.offset_begin = static_cast<int>(offsets.size());
  offsets.insert(offsets.end(), band.begin(), band.end());
  product.line_begin = static_cast<int>(lines.size());
  const Placement& rows = placements[at(product.row_placement)];
  const std::vector<int> from_line = nonzero_offsets(std::span(term.components), relative);
  for (std::size_t i = 0; i < band.size(); ++i)
    lines.push_back(std::int64_t{offsets[at(rows.offset_begin) + i]} * columns + before -
                    (term.is_dense() ? 0 : from_line[i]));
  take_in(product, columns);
}

/// Appends the product to the vector of sums.
void RowLayout::take_in(Product product, int columns) {
  product.rows = placements[at(product.row_placement)].size;
  product.columns = columns;
  product.row_nonzeros = terms[at(product.row_term)].nonzeros;
  product.column_nonzeros = terms[at(product.column_term)].nonzeros;
  // Splines and dense components have nonzeros in fours, contiguous if the component is the fastest.
  product.runs_of_four = product.column_nonzeros >= 4 && offsets[at(product.offset_begin + 1)] == 1;
  product.begin = width_;
  width_ += static_cast<std::int64_t>(product.rows) * product.columns;
  all_products.push_back(product);
}

LayoutView RowLayout::view() const noexcept {
  return {tables.numbers.data(),
          tables.components.data(),
          terms.data(),
          placements.data(),
          all_products.data(),
          strides.data(),
          offsets.data(),
          lines.data(),
          tables.part_variables.data(),
          static_cast<int>(terms.size()) - 1,
          static_cast<int>(placements.size()),
          values_per_row_};
}

int RowLayout::scalars(PassKind kind) const noexcept {
  return kind == PassKind::parameters ? parameter_scalar_count(parameters_) : scalar_count;
}

std::size_t RowLayout::width(PassKind kind) const noexcept {
  switch (kind) {
    case PassKind::parameters: return at(scalars(kind));
    case PassKind::deviance: return scalar_count;
    case PassKind::moments: return at(scalar_count) + at(raw_size_);
    default: return at(width_);
  }
}

std::span<const Product> RowLayout::products(PassKind kind) const noexcept {
  switch (kind) {
    case PassKind::parameters:
    case PassKind::deviance: return {};
    case PassKind::moments: return std::span(all_products).first(terms.size() - 1);
    default: return all_products;
  }
}

int RowLayout::planes() const noexcept {
  return several_ ? predictor_pairs(predictors_) + predictors_ : 1;
}

int RowLayout::plane_of(const Product& product, PassKind kind) const noexcept {
  if (!several_ || kind == PassKind::moments) return 0;
  const int column = terms[at(product.column_term)].predictor;
  if (at(product.row_term) + 1 == terms.size()) return predictor_pairs(predictors_) + column;
  return predictor_pair(terms[at(product.row_term)].predictor, column, predictors_);
}

std::span<const Product> RowLayout::products_of_terms() const noexcept {
  return std::span(all_products).subspan(terms.size() - 1);
}

RawMoments RowLayout::moments(std::span<const double> reduced) const {
  RawMoments moments;
  moments.sum_weight = reduced[0];
  moments.sum_weighted_response = reduced[1];
  moments.sum_weighted_square = reduced[3];
  moments.column_sums.assign(reduced.begin() + scalar_count, reduced.end());
  return moments;
}

RawDeviance RowLayout::deviance(std::span<const double> reduced) {
  return {reduced[1], reduced[2], reduced[3], reduced[0]};
}

RawGoodness RowLayout::goodness(std::span<const double> reduced) {
  return {reduced[1], reduced[3], reduced[0], reduced[2]};
}

RawLikelihood RowLayout::likelihood(std::span<const double> reduced) const {
  RawLikelihood out{reduced[0], {}, Matrix(parameters_, parameters_), reduced.back()};
  const auto gradient = reduced.subspan(1, at(parameters_));
  out.gradient.assign(gradient.begin(), gradient.end());
  std::size_t next = 1 + gradient.size();
  for (int i = 0; i < parameters_; ++i) {
    for (int j = i; j < parameters_; ++j) out.hessian(i, j) = out.hessian(j, i) = reduced[next++];
  }
  return out;
}

RawSums RowLayout::sums(std::span<const double> reduced) const {
  RawSums sums;
  sums.residual = reduced[0];
  sums.deviance = reduced[1];
  sums.bad_rows = reduced[2];
  const auto gradient = reduced.subspan(scalar_count, at(raw_size_));
  sums.gradient.assign(gradient.begin(), gradient.end());
  sums.gram = PartedMatrix(raw_size_, parted_columns_, pattern_);
  if (pairs_ != nullptr) {
    const auto of_pairs = reduced.subspan(at(pairs_begin_), sums.gram.beside.size());
    std::ranges::copy(of_pairs, sums.gram.beside.begin());
  }
  for_each_sum([&](std::int64_t sum, int i, int j) { sums.gram.set(i, j, reduced[at(sum)]); });
  return sums;
}

std::vector<double> RowLayout::packed(const PartedMatrix& form) const {
  std::vector<double> packed(at(width_));
  for_each_sum(
      [&](std::int64_t sum, int i, int j) { packed[at(sum)] = i == j ? form(i, i) : 2 * form(i, j); });
  for (int column = 0; pairs_ != nullptr && column < pairs_->pattern->columns(); ++column) {
    auto sum = at(pairs_begin_ + pairs_->pattern->begins[at(column)]);
    for (const int row : pairs_->pattern->rows_of(column)) {
      const int i = parted_columns_.row_at(row);
      const int j = parted_columns_.row_at(column);
      packed[sum++] = form.has(i, j) ? 2 * form(i, j) : std::numeric_limits<double>::quiet_NaN();
    }
  }
  return packed;
}

template <class Use>
void RowLayout::for_each_sum(const Use& use) const {
  for (const Product& product : products_of_terms()) {
    if (product.pairs >= 0) continue;
    if (product.symmetric) {
      for_each_of_band(product, use);
    } else {
      for_each_of_pair(product, use);
    }
  }
}

template <class Use>
void RowLayout::for_each_of_pair(const Product& product, const Use& use) const {
  const TermTable& row = terms[at(product.row_term)];
  const TermTable& column = terms[at(product.column_term)];
  const int* row_strides = strides.data() + placements[at(product.row_placement)].stride_begin;
  const int* own = strides.data() + placements[at(product.column_placement)].stride_begin;
  const int* full = strides.data() + placements[at(column.placement_begin)].stride_begin;
  const int count = column.component_end - column.component_begin;
  const auto size_of = [&](const TermTable& term, int i) {
    return component_sizes_[at(term.component_begin + i)];
  };

  // The index of a raw column of the column term is the sum of two parts: for the components that the
  // placement keeps, and for the factors whose levels the row term determines.
  std::vector<int> own_part(at(product.columns));
  if (column.combined >= 0) std::iota(own_part.begin(), own_part.end(), 0);
  for (int q = 0; q < product.columns; ++q) {
    for (int i = 0; i < count; ++i) {
      if (own[i] != 0) own_part[at(q)] += q / own[i] % size_of(column, i) * full[i];
    }
  }
  for (int p = 0; p < product.rows; ++p) {
    int shared_part = 0;
    for (int i = 0; i < count; ++i) {
      if (own[i] != 0) continue;
      const ComponentTable& factor = tables.components[at(column.component_begin + i)];
      for (int j = 0; j < row.component_end - row.component_begin; ++j) {
        const ComponentTable& other = tables.components[at(row.component_begin + j)];
        if (other.kind != Component::Kind::factor || other.variable != factor.variable) continue;
        shared_part += p / row_strides[j] % size_of(row, j) * full[i];
        break;
      }
    }
    const std::int64_t line = product.begin + static_cast<std::int64_t>(p) * product.columns;
    for (int q = 0; q < product.columns; ++q) {
      const int other = shared_part + own_part[at(q)];
      // A term with itself sums both triangles; use one.
      if (product.row_term == product.column_term && other < p) continue;
      use(line + q, row.raw_begin + p, column.raw_begin + other);
    }
  }
}

template <class Use>
void RowLayout::for_each_of_band(const Product& product, const Use& use) const {
  const TermTable& term = terms[at(product.row_term)];
  if (term.combined >= 0) {
    for (int p = 0; p < product.rows; ++p) {
      for (int q = p; q < product.columns; ++q)
        use(product.begin + static_cast<std::int64_t>(p) * product.columns + q, term.raw_begin + p,
            term.raw_begin + q);
    }
    return;
  }
  const std::vector<BandSpline> splines = band_of(term);
  for (int p = 0; p < product.rows; ++p) {
    const std::int64_t line = product.begin + static_cast<std::int64_t>(p) * product.columns;
    for (int q = 0; q < product.columns; ++q) {
      int other = p;
      bool inside = true;
      int rest = q;
      for (const BandSpline& spline : splines) {
        const int own = p / spline.stride % spline.size;
        const int index = rest % spline.count + (spline.is_dense ? 0 : own - spline.before);
        rest /= spline.count;
        inside = inside && index >= 0 && index < spline.size;
        other += (index - own) * spline.stride;
      }
      if (inside && other >= p) use(line + q, term.raw_begin + p, term.raw_begin + other);
    }
  }
}

}  // namespace TESSERA_NAMESPACE::gam
