// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/host_prediction.hpp"

#include "base/at.hpp"
#include "gam/linalg/linalg.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

namespace TESSERA_NAMESPACE::gam {

using base::at;

namespace {

/// Calls `use()` for each chunk of the complete rows of [begin, end).
template <class Use>
void for_each_chunk(const RowEvaluator& evaluator, RowChunk& chunk, std::size_t begin, std::size_t end,
                    const Use& use) {
  for (std::size_t next = begin; next < end; next += chunk_rows) {
    if ((next - begin) % prepared_rows == 0)
      evaluator.prepare(chunk, next, std::min<std::size_t>(end, next + prepared_rows));
    evaluator.gather(chunk, next, std::min<std::size_t>(end, next + chunk_rows));
    use();
  }
}

}  // namespace

HostPrediction::HostPrediction(const Rows& rows, const RowLayout& layout, std::span<const double> raw_coef,
                               std::span<const double> form, const Posterior& posterior)
    : rows_(rows),
      layout_(layout),
      view_(layout.view()),
      evaluator_(rows, layout),
      raw_coef_(raw_coef),
      form_(form),
      posterior_(posterior) {
  for (const RawTerm& term : rows.design->terms) {
    std::vector<int>& columns = columns_of_term_.emplace_back();
    if (posterior.terms.are_predictors) {
      rows.design->for_each_reader(term.predictor, [&](int predictor) { columns.push_back(predictor); });
      continue;
    }
    int column = 0;
    if (posterior.terms.count > 0) {
      const std::span of_raw =
          std::span(posterior.terms.of_raw).subspan(at(term.raw_begin), at(term.raw_size));
      column =
          std::ranges::adjacent_find(of_raw, std::not_equal_to<>()) == of_raw.end() ? of_raw[0] : by_rows;
    }
    if (column >= 0 || column == by_rows) columns.push_back(column);
  }
}

void HostPrediction::predict(std::size_t begin, std::size_t end, std::span<Prediction> out) const {
  const TermColumns& terms = posterior_.terms;
  const std::size_t columns = at(terms.columns());
  RowChunk chunk(layout_);
  std::vector<double> fits(columns * chunk_rows);
  std::vector<double> variances(form_.empty() ? 0 : columns * chunk_rows);
  for_each_chunk(evaluator_, chunk, begin, end, [&] {
    std::ranges::fill(fits, 0.0);
    if (terms.count == 0 || terms.are_predictors)
      std::copy_n(chunk.offset.begin(), std::min(fits.size(), chunk.offset.size()), fits.begin());
    for (int term = 0; term < view_.term_count; ++term) {
      evaluator_.evaluate_term(term, chunk);
      add_term(term, raw_coef_, chunk, fits);
    }
    if (!form_.empty()) {
      std::ranges::fill(variances, 0.0);
      for (const Product& product : layout_.products_of_terms()) add_product(product, chunk, variances);
      for (int term = 0; !terms.slopes.empty() && term < view_.term_count; ++term)
        add_term(term, terms.slopes, chunk, variances);
    }
    for (int r = 0; r < chunk.count; ++r) {
      Prediction* const of_row = out.data() + (chunk.index[at(r)] - begin) * columns;
      for (std::size_t c = 0; c < columns; ++c) {
        Prediction& prediction = of_row[c];
        prediction.fit = fits[c * chunk_rows + at(r)];
        if (form_.empty()) continue;
        const double constant = terms.constants.empty() ? 0 : terms.constants[c];
        prediction.se = std::sqrt(not_negative(variances[c * chunk_rows + at(r)] + constant));
      }
      if (posterior_.response) {
        of_row->se *= std::abs(rows_.family.derivative(of_row->fit));
        of_row->fit = rows_.family.mean(of_row->fit);
      }
    }
  });
}

void HostPrediction::add_term(int term, std::span<const double> raw, RowChunk& chunk, Columns to) const {
  for (const int column : columns_of_term_[at(term)]) {
    if (column >= 0) {
      evaluator_.add_predictor(term, raw, chunk, to.subspan(at(column) * chunk_rows, chunk_rows));
      continue;
    }
    std::array<double, chunk_rows> values{};
    evaluator_.add_predictor(term, raw, chunk, values);
    add_by_rows(term, chunk, values, to);
  }
}

void HostPrediction::add_product(const Product& product, RowChunk& chunk, Columns variances) const {
  const std::vector<int>& of_other = columns_of_term_[at(product.column_term)];
  for (const int column : columns_of_term_[at(product.row_term)]) {
    if (std::ranges::find(of_other, column) == of_other.end()) continue;
    if (column >= 0) {
      apply(product, chunk, variances.subspan(at(column) * chunk_rows, chunk_rows));
      continue;
    }
    // Smooths by a factor: the output column depends on the row, and no two terms share a row's column.
    if (product.row_term != product.column_term) continue;
    std::array<double, chunk_rows> values{};
    apply(product, chunk, values);
    add_by_rows(product.row_term, chunk, values, variances);
  }
}

void HostPrediction::add_by_rows(int term, const RowChunk& chunk, std::span<const double> values,
                                 Columns to) const {
  const TermTable& table = view_.terms[term];
  const int* starts = chunk.starts.data() + static_cast<std::ptrdiff_t>(table.placement_begin) * chunk_rows;
  const int first = table.raw_begin + view_.offsets[view_.placements[table.placement_begin].offset_begin];
  for (int r = 0; r < chunk.count; ++r) {
    const int column = posterior_.terms.of_raw[at(first + starts[r])];
    if (column >= 0) to[at(column) * chunk_rows + at(r)] += values[at(r)];
  }
}

void HostPrediction::apply(const Product& product, const RowChunk& chunk, std::span<double> variances) const {
  const auto row = side_of(view_, chunk, chunk.values, product.row_term, product.row_placement);
  const auto column = side_of(view_, chunk, chunk.values, product.column_term, product.column_placement);
  const double* form = form_.data() + product.begin;
  if (product.pairs >= 0) {
    for (int r = 0; r < chunk.count; ++r) {
      const double* a = row.values + std::ptrdiff_t{product.row_nonzeros} * r;
      const double* b = column.values + std::ptrdiff_t{product.column_nonzeros} * r;
      layout_.for_each_of_pair(product, chunk.index[at(r)], row.starts[r], column.starts[r],
                               [&](std::size_t i, std::size_t j, std::size_t sum) {
                                 variances[at(r)] += a[i] * b[j] * form[sum];
                               });
    }
    return;
  }
  apply_form(view_, product, chunk.count, row, column, form, variances.data());
}

HostPredictors::HostPredictors(const Rows& rows, const RowLayout& layout, const Matrix& coefs)
    : layout_(layout), evaluator_(rows, layout), raw_coefs_(rows.design->raw_size, coefs.cols()) {
  for (int j = 0; j < coefs.cols(); ++j)
    std::ranges::copy(rows.design->raw_coefficients(coefs.column(j)), raw_coefs_.column(j).begin());
}

void HostPredictors::evaluate(std::size_t begin, std::size_t end, std::span<double> out) const {
  const std::size_t columns = at(raw_coefs_.cols());
  RowChunk chunk(layout_);
  std::vector<double> predictors;
  for_each_chunk(evaluator_, chunk, begin, end, [&] {
    const int terms = layout_.view().term_count;
    for (int term = 0; term < terms; ++term) evaluator_.evaluate_term(term, chunk);
    for (std::size_t c = 0; c < columns; ++c) {
      predictors = chunk.offset;
      for (int term = 0; term < terms; ++term)
        evaluator_.add_predictor(term, raw_coefs_.column(static_cast<int>(c)), chunk, predictors);
      for (int r = 0; r < chunk.count; ++r)
        out[(chunk.index[at(r)] - begin) * columns + c] = predictors[at(r)];
    }
  });
}

HostDesignRows::HostDesignRows(const Rows& rows, const RowLayout& layout)
    : design_(*rows.design), layout_(layout), view_(layout.view()), evaluator_(rows, layout) {
  for (const CoefBlock& block : design_.blocks) {
    const auto term = std::ranges::find_if(design_.terms, [&](const RawTerm& one) {
      return block.raw_begin >= one.raw_begin && block.raw_begin < one.raw_begin + one.raw_size;
    });
    blocks_.push_back({&block, static_cast<int>(term - design_.terms.begin()), transpose(block.map)});
  }
}

void HostDesignRows::evaluate(std::size_t begin, std::size_t end, std::span<double> out) const {
  const std::size_t columns = at(design_.coef_size);
  RowChunk chunk(layout_);
  for_each_chunk(evaluator_, chunk, begin, end, [&] {
    for (int term = 0; term < view_.term_count; ++term) evaluator_.evaluate_term(term, chunk);
    for (int r = 0; r < chunk.count; ++r)
      std::fill_n(out.data() + (chunk.index[at(r)] - begin) * columns, columns, 0.0);
    for (const auto& [block, term, map] : blocks_) {
      const TermTable& table = view_.terms[term];
      const double* value = chunk.values_of(table);
      const int* starts = chunk.starts_of(table.placement_begin);
      const int* offsets = view_.offsets + view_.placements[table.placement_begin].offset_begin;
      for (int r = 0; r < chunk.count; ++r) {
        double* const x = out.data() + (chunk.index[at(r)] - begin) * columns + block->coef_begin;
        for (int k = 0; k < table.nonzeros; ++k, ++value) {
          const int raw = table.raw_begin + starts[r] + offsets[k] - block->raw_begin;
          if (raw < 0 || raw >= block->raw_size) continue;
          if (block->has_identity_map()) {
            x[raw] += *value;
            continue;
          }
          const auto weights = map.column(raw % map.cols());
          const int first = raw / map.cols() * map.rows();
          for (int j = 0; j < map.rows(); ++j) x[first + j] += *value * weights[at(j)];
        }
      }
    }
  });
}

}  // namespace TESSERA_NAMESPACE::gam
