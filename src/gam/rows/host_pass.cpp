// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/host_pass.hpp"

#include "base/at.hpp"
#include "gam/family/response_memo.hpp"
#include "gam/family/visit.hpp"
#include "gam/rows/aligned_sums.hpp"
#include "gam/rows/packet_rows.hpp"
#include "gam/rows/products.hpp"
#include "gam/rows/shared_terms.hpp"
#include "gam/rows/whitened_rows.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// Products of two random effects, stored by pair of levels.
void add_paired(const RowLayout& layout, const Product& product, const RowChunk& chunk,
                const ProductSide& row, const ProductSide& column, double* sums) {
  for (int r = 0; r < chunk.count; ++r) {
    const double* a = row.values + std::ptrdiff_t{product.row_nonzeros} * r;
    const double* b = column.values + std::ptrdiff_t{product.column_nonzeros} * r;
    layout.for_each_of_pair(product, chunk.index[at(r)], row.starts[r], column.starts[r],
                            [&](std::size_t i, std::size_t j, std::size_t sum) { sums[sum] += a[i] * b[j]; });
  }
}

}  // namespace

/// A thread's buffers.
struct HostRows::Chunk : RowChunk {
  Chunk(const RowLayout& layout, bool correlated)
      : RowChunk(layout),
        aligned(layout),
        response(chunk_rows),
        prior(chunk_rows),
        weight(chunk_rows),
        limit(chunk_rows),
        weighted(correlated ? 0 : at(layout.predictors()) * values.size()) {
    if (correlated) whitened.emplace(layout);
    const LayoutView view = layout.view();
    moments.resize(static_cast<std::size_t>(view.term_count));
    far_sums.resize(moments.size());
    for (int t = 0; t < view.term_count; ++t) {
      const ComponentTable* component = lone_curve(view, t);
      const bool read = std::any_of(view.terms, view.terms + view.term_count,
                                    [&](const TermTable& term) { return term.combined == t; });
      if (read) continue;
      if (const FarField* field = lone_far_field(layout, t))
        far_sums[static_cast<std::size_t>(t)] = field->none();
      if (component != nullptr && component->kind == ComponentKind::dense)
        moments[static_cast<std::size_t>(t)].resize(4 *
                                                    static_cast<std::size_t>(component->margin.cells + 2));
    }
  }

  AlignedSums aligned;
  std::vector<double> response, prior, weight;
  std::vector<double> limit;  ///< second number of each response (`Rows::limit`)
  /// Values times the row's weight, unless all weights are 1. With several linear predictors, one copy for
  /// each predictor p, with the weights of the pair of p and the term's predictor.
  std::vector<double> weighted;
  std::vector<double> scalars;                             ///< by scalar, `chunk_rows` each
  std::vector<double> parts;                               ///< see `LikelihoodArrays`
  std::vector<double> log_likelihood, scores, curvatures;  ///< with several linear predictors
  std::vector<double> whole;                               ///< linear predictors, if they share terms
  ResponseMemos memos;
  /// By term: sums of powers by cell, for single curves with dense columns. They determine column sums.
  std::vector<std::vector<double>> moments;
  std::vector<std::optional<FarField::Functions>> far_sums;  ///< by term, if it has only a far field
  [[nodiscard]] bool has_sums(int term) const { return far_sums[at(term)] || !moments[at(term)].empty(); }
  bool unit_weights = false;
  bool uses_aligned = false;
  std::optional<WhitenedRows> whitened;  ///< for correlated rows, in place of `weighted`
  bool whitens = false;                  ///< this pass whitens rows
};

/// RAII lease of a chunk from a pool. Thread-safe.
class HostRows::Lease {
 public:
  explicit Lease(HostRows& owner) : owner_(owner) {
    {
      const std::lock_guard lock(owner.mutex_);
      if (!owner.idle_.empty()) {
        chunk_ = std::move(owner.idle_.back());
        owner.idle_.pop_back();
      }
    }
    if (!chunk_) chunk_ = std::make_unique<Chunk>(owner.layout_, owner.rows_.series.correlated());
  }
  ~Lease() {
    const std::lock_guard lock(owner_.mutex_);
    owner_.idle_.push_back(std::move(chunk_));
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Chunk& operator*() const { return *chunk_; }

 private:
  HostRows& owner_;
  std::unique_ptr<Chunk> chunk_;
};

HostRows::HostRows(const Rows& rows, const RowLayout& layout)
    : rows_(rows), layout_(layout), view_(layout.view()), evaluator_(rows, layout) {
  if (!rows.series.correlated() || !rows.series.before) return;
  rows_before_ = rows;
  rows_before_->frame = rows.series.before.get();
  evaluator_before_.emplace(*rows_before_, layout);
}

HostRows::~HostRows() = default;

void HostRows::add(PassKind kind, std::span<const double> raw_coef, std::size_t begin, std::size_t end,
                   std::span<double> sums) {
  const Lease lease(*this);
  Chunk& chunk = *lease;
  const auto products = layout_.products(kind);
  std::shared_ptr<const CurvePredictor> shared;
  if (kind != PassKind::moments) shared = predictor_at(raw_coef);
  const CurvePredictor* predictor = shared.get();
  chunk.evaluator.forget();  // cached results of the last pass
  chunk.uses_aligned = chunk.aligned.worth((end - begin) / stride_);
  if (chunk.uses_aligned) chunk.aligned.clear(products);
  chunk.whitens = rows_.series.correlated() && (kind == PassKind::start || kind == PassKind::step);
  if (chunk.whitens) look_back(kind, predictor, begin, end, chunk);
  const std::size_t first_chunk = (at(rows_.frame->rows.begin) + begin) / chunk_rows;
  const std::size_t prepared = stride_ == 1 ? prepared_rows : chunk_rows;
  for (std::size_t i = (stride_ - first_chunk % stride_) % stride_; begin + i * chunk_rows < end;
       i += stride_) {
    const std::size_t next = begin + i * chunk_rows;
    if (i * chunk_rows % prepared == 0)
      evaluator_.prepare(chunk, next, std::min<std::size_t>(end, next + prepared),
                         wanted_of(kind, predictor, chunk));
    read(rows_, evaluator_, kind, predictor, next, std::min<std::size_t>(end, next + chunk_rows), chunk);
    finish(kind, chunk, sums.data());
    if (chunk.whitens) whiten(chunk, sums.data());
    for (const Product& product : products) {
      if (kind != PassKind::moments || !chunk.has_sums(product.column_term))
        add_product(product, chunk, sums.data());
    }
  }
  if (kind == PassKind::moments) add_moments(chunk, sums.data());
  if (chunk.uses_aligned) chunk.aligned.fold(products, sums.data());
}

std::shared_ptr<const CurvePredictor> HostRows::predictor_at(std::span<const double> raw_coef) {
  const std::lock_guard lock(mutex_);
  if (!predictor_ || !std::ranges::equal(predictor_->raw_coef(), raw_coef))
    predictor_ = std::make_shared<const CurvePredictor>(layout_, raw_coef);
  return predictor_;
}

/// For each component with a far field: whether the pass needs its predictor, column sums, or columns.
std::vector<PointEvaluator::FarWanted> HostRows::wanted_of(PassKind kind, const CurvePredictor* predictor,
                                                           Chunk& chunk) const {
  std::vector<PointEvaluator::FarWanted> wanted(layout_.tables.components.size());
  for (int term = 0; term < view_.term_count; ++term) {
    if (lone_far_field(layout_, term) == nullptr) continue;
    PointEvaluator::FarWanted& own = wanted[at(view_.terms[term].component_begin)];
    if (predictor != nullptr) own.combined = predictor->far_of(term);
    auto& sums = chunk.far_sums[at(term)];
    if (kind == PassKind::moments && sums) own.sums = &*sums;
    own.columns = kind == PassKind::moments
                      ? !sums.has_value()
                      : !layout_.products(kind).empty() || predictor->needs_values(term);
  }
  return wanted;
}

/// Converts the chunk's sums of powers to column sums, adds these to `sums`, and clears the chunk's sums.
void HostRows::add_moments(Chunk& chunk, double* sums) const {
  for (const Product& product : layout_.products(PassKind::moments)) {
    if (auto& far = chunk.far_sums[at(product.column_term)]) {
      const FarField* field = lone_far_field(layout_, product.column_term);
      field->add_columns(*far, sums + product.begin);
      *far = field->none();
    }
    std::vector<double>& moments = chunk.moments[at(product.column_term)];
    if (moments.empty()) continue;
    const ComponentTable& component = view_.components[view_.terms[product.column_term].component_begin];
    add_columns_of_moments(component, view_.numbers, moments.data(), sums + product.begin);
    std::fill(moments.begin(), moments.end(), 0.0);
  }
}

/// Evaluates the last complete row before `begin`, possibly another rank's, as the predecessor in its series.
void HostRows::look_back(PassKind kind, const CurvePredictor* predictor, std::size_t begin, std::size_t end,
                         Chunk& chunk) const {
  chunk.whitened->forget_predecessor();
  if (!has_complete(*rows_.frame, begin, end)) return;
  if (const auto row = complete_before(*rows_.frame, begin))
    read(rows_, evaluator_, kind, predictor, *row, *row + 1, chunk);
  else if (rows_before_)
    read(*rows_before_, *evaluator_before_, kind, predictor, 0, 1, chunk);
  else
    return;
  std::vector<double> of_another(at(RowLayout::scalar_count));
  finish(kind, chunk, of_another.data());
  chunk.whitened->keep_last(chunk, std::sqrt(chunk.weight[0]));
}

void HostRows::read(const Rows& rows, const RowEvaluator& evaluator, PassKind kind,
                    const CurvePredictor* predictor, std::size_t begin, std::size_t end, Chunk& chunk) const {
  evaluator.gather(chunk, begin, end);
  gather_response(rows, view_, chunk);
  for (int term = 0; term < view_.term_count; ++term) {
    if (kind == PassKind::moments && chunk.has_sums(term)) {
      if (!chunk.far_sums[at(term)]) evaluator.add_moments(term, chunk, chunk.moments[at(term)].data());
      continue;
    }
    const bool evaluated = !layout_.products(kind).empty() || predictor->needs_values(term);
    if (evaluated) evaluator.evaluate_term(term, chunk);
    if (predictor != nullptr) evaluator.add_predictor(term, *predictor, evaluated, chunk);
  }
}

void HostRows::gather_response(const Rows& rows, const LayoutView& view, Chunk& chunk) {
  const auto gather = [&](int variable, double factor, std::vector<double>& out) {
    const std::span<const std::size_t> complete(chunk.index.data(), at(chunk.count));
    rows.frame->variables[at(variable)].numbers.view().gather(complete, out.data());
    for (int r = 0; r < chunk.count; ++r) out[at(r)] *= factor;
  };
  gather(rows.response, rows.response_factor, chunk.response);
  if (rows.limit >= 0) gather(rows.limit, rows.response_factor, chunk.limit);
  if (rows.prior_weight >= 0) {
    gather(rows.prior_weight, rows.prior_factor, chunk.prior);
  } else {
    std::fill(chunk.prior.begin(), chunk.prior.end(), 1.0);
  }
  int* zero_starts = chunk.starts_of(view.terms[view.term_count].placement_begin);
  std::fill(zero_starts, zero_starts + chunk.count, 0);
}

const double* HostRows::limits_in(const Chunk& chunk) const {
  return rows_.limit >= 0 ? chunk.limit.data() : chunk.response.data();
}

void HostRows::finish(PassKind kind, Chunk& chunk, double* sums) const {
  if (const SeveralFamily* several = rows_.family.several())
    return finish_several(kind, *several, chunk, sums);
  visit(rows_.family, [&](const auto& family) {
    if (kind == PassKind::parameters) return add_likelihood(family, chunk, sums);
    finish_rows(kind, family, chunk, sums);
  });
}

/// Adds scalars [first, end) of each row to `sums`, in the order of rows.
void HostRows::add_scalars(const Chunk& chunk, int first, int end, double* sums) {
  for (int k = first; k < end; ++k) {
    const double* const scalars = chunk.scalars.data() + at(k) * chunk_rows;
    for (int r = 0; r < chunk.count; ++r) sums[k] += scalars[r];
  }
}

/// Computes weights and residuals from eta; adds the scalars to `sums`.
template <RowFamily F>
void HostRows::finish_rows(PassKind kind, const F& family, Chunk& chunk, double* sums) const {
  double* residual = chunk.values_of(view_.terms[view_.term_count]);
  chunk.scalars.resize(at(RowLayout::scalar_count) * chunk_rows);
  if constexpr (PacketFamily<F>) {
    row_outcomes(kind, family,
                 {chunk.count, chunk_rows, chunk.response.data(), chunk.eta.data(), chunk.offset.data(),
                  chunk.prior.data(), chunk.weight.data(), residual, chunk.scalars.data(), limits_in(chunk)});
  } else {
    for (int r = 0; r < chunk.count; ++r) {
      const auto i = at(r);
      const RowOutcome row =
          row_outcome<double>(kind, family, chunk.response[i], chunk.eta[i], chunk.offset[i], chunk.prior[i]);
      chunk.weight[i] = row.weight;
      residual[r] = row.residual;
      for (int k = 0; k < RowLayout::scalar_count; ++k)
        chunk.scalars[at(k) * chunk_rows + i] = row.scalars[k];
    }
  }
  add_scalars(chunk, chunk.whitens ? 1 : 0, RowLayout::scalar_count, sums);
  const double* const bad = chunk.scalars.data() + 2 * chunk_rows;
  for (int r = 0; r < chunk.count && kind != PassKind::moments; ++r)
    if (bad[r] != 0) clear_row(r, chunk);
  chunk.unit_weights = kind == PassKind::moments || (F::linear && rows_.prior_weight < 0);
  if (chunk.unit_weights || chunk.whitens || kind == PassKind::deviance) return;
  for (int term = 0; term <= view_.term_count; ++term) {
    const std::ptrdiff_t begin = view_.terms[term].value_begin * chunk_rows;
    multiply_rows(chunk.weight.data(), view_.terms[term].nonzeros, chunk.count, chunk.values.data() + begin,
                  chunk.weighted.data() + begin);
  }
}

/// `finish_rows` for several linear predictors (see `SeveralOutcome`).
void HostRows::finish_several(PassKind kind, const SeveralFamily& family, Chunk& chunk, double* sums) const {
  const auto count = at(chunk.count);
  if (kind == PassKind::moments) {
    for (std::size_t r = 0; r < count; ++r) {
      const double y = chunk.response[r];
      sums[0] += chunk.prior[r];
      sums[1] += chunk.prior[r] * y;
      sums[3] += chunk.prior[r] * y * y;
    }
    std::fill_n(chunk.values_of(view_.terms[view_.term_count]), count, 1.0);
    chunk.unit_weights = true;
    return;
  }
  const bool shares = !layout_.readers().empty();
  if (shares) chunk.whole = predictors_of_formulas(layout_.readers(), family.predictors(), chunk.eta);
  const std::vector<double>& predictor = shares ? chunk.whole : chunk.eta;
  int predictors = shares ? family.predictors() : layout_.predictors();
  const auto planes = at(predictors);
  const bool derivatives = kind != PassKind::deviance;
  chunk.log_likelihood.resize(chunk_rows);
  chunk.scores.resize(planes * chunk_rows);
  chunk.curvatures.resize(at(predictor_pairs(predictors)) * chunk_rows);
  family.evaluate({.count = chunk.count,
                   .stride = chunk_rows,
                   .response = chunk.response.data(),
                   .prior = chunk.prior.data(),
                   .eta = predictor.data(),
                   .log_likelihood = chunk.log_likelihood.data(),
                   .gradient = derivatives ? chunk.scores.data() : nullptr,
                   .weights = derivatives ? chunk.curvatures.data() : nullptr});
  chunk.unit_weights = false;
  std::vector<double> eta(planes);
  for (std::size_t r = 0; r < count; ++r) {
    double sum = chunk.log_likelihood[r];
    for (std::size_t p = 0; p < planes; ++p) sum += eta[p] = predictor[p * chunk_rows + r];
    for (std::size_t p = r; derivatives && p < chunk.scores.size(); p += chunk_rows) sum += chunk.scores[p];
    for (std::size_t p = r; derivatives && p < chunk.curvatures.size(); p += chunk_rows)
      sum += chunk.curvatures[p];
    double squares[] = {1, 0};
    if (!derivatives) {
      squares[1] = chunk.prior[r] * family.squared_residual(chunk.response[r], eta);
      for (std::size_t p = 0; p < planes; ++p)
        if (!std::isnan(rows_.null_predictors[p])) eta[p] = rows_.null_predictors[p];
      squares[0] = chunk.prior[r] * family.squared_residual(chunk.response[r], eta);
      sum += squares[0] + squares[1];
    }
    if (sum - sum == 0) {
      sums[0] += squares[0];
      sums[1] += -2 * chunk.log_likelihood[r];
      sums[3] += squares[1];
      continue;
    }
    sums[2] += 1;
    clear_row(static_cast<int>(r), chunk);
    for (std::size_t p = r; p < chunk.scores.size(); p += chunk_rows) chunk.scores[p] = 0;
    for (std::size_t p = r; p < chunk.curvatures.size(); p += chunk_rows) chunk.curvatures[p] = 0;
  }
  if (!derivatives) return;
  if (shares) {
    chunk.curvatures = curvatures_of_formulas(layout_.readers(), predictors, chunk.curvatures);
    chunk.scores = scores_of_formulas(layout_.readers(), chunk.scores);
    predictors = layout_.predictors();
  }
  const TermTable& residual = view_.terms[view_.term_count];
  std::fill_n(chunk.values_of(residual), count, 1.0);
  for (int q = 0; q < predictors; ++q) {
    double* const to = chunk.weighted.data() + at(q) * chunk.values.size();
    std::copy_n(chunk.scores.begin() + q * chunk_rows, count, to + residual.value_begin * chunk_rows);
    for (int term = 0; term < view_.term_count; ++term) {
      const TermTable& table = view_.terms[term];
      const int pair = predictor_pair(table.predictor, q, predictors);
      multiply_rows(chunk.curvatures.data() + at(pair) * chunk_rows, table.nonzeros, chunk.count,
                    chunk.values_of(table), to + table.value_begin * chunk_rows);
    }
  }
}

/// Adds the likelihood's derivatives with respect to the family's parameters to `sums`.
template <RowFamily F>
void HostRows::add_likelihood([[maybe_unused]] const F& family, [[maybe_unused]] Chunk& chunk,
                              [[maybe_unused]] double* sums) const {
  if constexpr (ParametricFamily<F>) {
    const int count = parameter_scalar_count(parameter_count_of(family));
    chunk.scalars.resize(std::max(chunk.scalars.size(), at(count) * chunk_rows));
    if constexpr (PacketFamily<F>) {
      constexpr int part_count = part_count_of<F>();
      chunk.parts.resize(at(part_count) * chunk_rows);
      if constexpr (part_count > 0) {
        for (std::size_t r = 0; r < at(chunk.count); ++r) {
          const auto part = std::bit_cast<std::array<double, at(part_count)>>(
              chunk.memos.of(family).response_part(family, chunk.response[r]));
          for (std::size_t k = 0; k < part.size(); ++k) chunk.parts[k * chunk_rows + r] = part[k];
        }
      }
      likelihood_outcomes(
          family, {chunk.count, chunk_rows, chunk.response.data(), chunk.eta.data(), chunk.prior.data(),
                   chunk.parts.data(), chunk.scalars.data(), limits_in(chunk)});
    } else {
      double scalars[parameter_scalar_count(F::parameter_count)];
      for (std::size_t r = 0; r < at(chunk.count); ++r) {
        likelihood_outcome(family, chunk.response[r], chunk.eta[r], chunk.prior[r], scalars);
        for (int k = 0; k < count; ++k) chunk.scalars[at(k) * chunk_rows + r] = scalars[k];
      }
    }
    add_scalars(chunk, 0, count, sums);
  }
}

/// Zeroes the values of a bad row, which may be NaN or infinite.
void HostRows::clear_row(int r, Chunk& chunk) const {
  for (int term = 0; term <= view_.term_count; ++term) {
    const int nonzeros = view_.terms[term].nonzeros;
    std::fill_n(chunk.values_of(view_.terms[term]) + static_cast<std::ptrdiff_t>(r) * nonzeros, nonzeros,
                0.0);
  }
}

/// Whitens the chunk's rows, and adds their squared residuals to `sums`.
void HostRows::whiten(Chunk& chunk, double* sums) const {
  if (chunk.count == 0) return;
  std::vector<double>& roots = chunk.prior;  // reused as scratch
  std::array<std::uint8_t, chunk_rows> begins{};
  for (int r = 0; r < chunk.count; ++r) {
    roots[at(r)] = std::sqrt(chunk.weight[at(r)]);
    begins[at(r)] = rows_.series.begins_at(*rows_.frame, chunk.index[at(r)]) ? 1 : 0;
  }
  chunk.whitened->transform(chunk, roots, begins, rows_.series.weights());
  for (int r = 0; r < chunk.count; ++r) sums[0] += chunk.whitened->residual(r) * chunk.whitened->residual(r);
  chunk.whitened->keep_last(chunk, roots[at(chunk.count - 1)]);
}

void HostRows::add_product(const Product& product, Chunk& chunk, double* sums) const {
  if (chunk.whitens) {
    return chunk.whitened->for_each_half(product, [&](const ProductSide& row, const ProductSide& column) {
      add_sides(product, row, column, chunk, sums);
    });
  }
  ProductSide row = side_of(view_, chunk, chunk.unit_weights ? chunk.values : chunk.weighted,
                            product.row_term, product.row_placement);
  if (!chunk.unit_weights) row.values += at(view_.terms[product.column_term].predictor) * chunk.values.size();
  const ProductSide column =
      side_of(view_, chunk, chunk.values, product.column_term, product.column_placement);
  add_sides(product, row, column, chunk, sums);
}

void HostRows::add_sides(const Product& product, const ProductSide& row, const ProductSide& column,
                         Chunk& chunk, double* sums) const {
  if (chunk.uses_aligned && chunk.aligned.has(product)) {
    chunk.aligned.add(product, chunk.count, row, column);
    return;
  }
  double* out = sums + product.begin;
  if (product.pairs >= 0)
    add_paired(layout_, product, chunk, row, column, out);
  else
    add_to_matrix(view_, product, chunk.count, row, column, out);
}

}  // namespace TESSERA_NAMESPACE::gam
