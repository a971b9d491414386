// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/chunk.hpp"

#include "base/at.hpp"
#include "base/vectors.hpp"

#include <algorithm>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

using base::at;
using Two = base::Vectors<2>;

RowChunk::RowChunk(const RowLayout& layout)
    : evaluator(layout.tables, chunk_rows),
      index(chunk_rows),
      offset(at(layout.predictors()) * chunk_rows),
      eta(offset.size()),
      starts(layout.placements.size() * chunk_rows),
      values(at(layout.view().values_per_row) * chunk_rows) {}

RowEvaluator::RowEvaluator(const Rows& rows, const RowLayout& layout)
    : rows_(rows), view_(layout.view()), variables_(variables_read(rows)) {
  for (const Variable& variable : rows.frame->variables) {
    numbers_.push_back(variable.numbers.view());
    codes_.push_back(variable.codes.data());
  }
}

void RowEvaluator::prepare(RowChunk& chunk, std::size_t begin, std::size_t end,
                           std::span<const PointEvaluator::FarWanted> wanted) const {
  if (!chunk.evaluator.has_far_fields()) return;
  const Frame& frame = *rows_.frame;
  frame.complete.prepare_to_read(begin, end);
  for (const int variable : variables_) frame.variables[at(variable)].prepare_to_read(begin, end);
  std::vector<std::size_t> rows;
  for (std::size_t row = begin; row < end; ++row) {
    if (frame.complete[row] != 0) rows.push_back(row);
  }
  chunk.evaluator.prepare(numbers_.data(), std::move(rows), wanted);
}

void RowEvaluator::gather(RowChunk& chunk, std::size_t begin, std::size_t end) const {
  const Frame& frame = *rows_.frame;
  frame.complete.prepare_to_read(begin, end);
  for (const int variable : variables_) frame.variables[at(variable)].prepare_to_read(begin, end);
  int count = 0;
  for (std::size_t row = begin; row < end; ++row) {
    chunk.index[at(count)] = row;
    count += frame.complete[row] != 0 ? 1 : 0;
  }
  chunk.count = count;
  // A prediction of some terms may have fewer linear predictors than `rows_` has offsets.
  chunk.offset.assign(std::max(chunk.offset.size(), (1 + rows_.further_offsets.size()) * chunk_rows), 0.0);
  const auto add = [&](std::span<const int> offsets, double* sum) {
    for (const int variable : offsets) {
      const NumberView numbers = frame.variables[at(variable)].numbers.view();
      for (int r = 0; r < count; ++r) sum[r] += rows_.response_factor * numbers[chunk.index[at(r)]];
    }
  };
  add(rows_.offsets, chunk.offset.data());
  for (std::size_t p = 0; p < rows_.further_offsets.size(); ++p)
    add(rows_.further_offsets[p], chunk.offset.data() + (p + 1) * chunk_rows);
  chunk.eta = chunk.offset;
}

void RowEvaluator::evaluate_term(int term_index, RowChunk& chunk) const {
  const TermTable& term = view_.terms[term_index];
  const int count = chunk.count;
  double* values = chunk.values_of(term);
  for (int p = term.placement_begin; p < term.placement_end; ++p) {
    int* starts = chunk.starts_of(p);
    std::fill(starts, starts + count, 0);
  }
  if (term.combined >= 0) return combine(rows_.design->terms[at(term_index)], values, chunk);
  chunk.evaluator.evaluate(term.component_begin, term.component_end, points_of(chunk), values,
                           [&](int component, const int* first) {
                             for (int p = term.placement_begin; p < term.placement_end; ++p) {
                               const int stride = view_.strides[view_.placements[p].stride_begin + component];
                               int* starts = chunk.starts_of(p);
                               for (int r = 0; r < count; ++r) starts[r] += stride * first[r];
                             }
                           });
}

void RowEvaluator::combine(const RawTerm& dense, double* out, RowChunk& chunk) const {
  const TermTable& from = view_.terms[dense.combined];
  const double* values = chunk.values_of(from);
  const int* starts = chunk.starts_of(from.placement_begin);
  const int* offsets = view_.offsets + view_.placements[from.placement_begin].offset_begin;
  for (int r = 0; r < chunk.count; ++r, values += from.nonzeros, out += dense.raw_size) {
    dense.combine(
        from.nonzeros, [&](int k) { return std::pair(starts[r] + offsets[k], values[k]); }, out);
  }
}

void RowEvaluator::add_predictor(int term_index, std::span<const double> raw_coef, RowChunk& chunk,
                                 std::span<double> eta) const {
  const TermTable& term = view_.terms[term_index];
  const double* values = chunk.values_of(term);
  const int* starts = chunk.starts_of(term.placement_begin);
  const int* offsets = view_.offsets + view_.placements[term.placement_begin].offset_begin;
  const double* coef = raw_coef.data() + term.raw_begin;
  int r = 0;
  if (term.nonzeros == 4 && offsets[3] == 3) {
    for (; r + 1 < chunk.count; r += 2, values += 8) {
      const double* first = coef + starts[r];
      const double* second = coef + starts[r + 1];
      const auto low = *Two::at(first) * *Two::at(values);
      const auto high = *Two::at(first + 2) * *Two::at(values + 2);
      const auto second_low = *Two::at(second) * *Two::at(values + 4);
      const auto second_high = *Two::at(second + 2) * *Two::at(values + 6);
      *Two::at(&eta[at(r)]) += (((0.0 + __builtin_shufflevector(low, second_low, 0, 2)) +
                                 __builtin_shufflevector(low, second_low, 1, 3)) +
                                __builtin_shufflevector(high, second_high, 0, 2)) +
                               __builtin_shufflevector(high, second_high, 1, 3);
    }
  }
  for (; r < chunk.count; ++r, values += term.nonzeros) {
    double sum = 0;
    for (int k = 0; k < term.nonzeros; ++k) sum += coef[starts[r] + offsets[k]] * values[k];
    eta[at(r)] += sum;
  }
}

void RowEvaluator::add_moments(int term, RowChunk& chunk, double* sums) const {
  chunk.evaluator.add_moments(view_.terms[term].component_begin, points_of(chunk), sums);
}

void RowEvaluator::add_predictor(int term, const CurvePredictor& predictor, bool evaluated,
                                 RowChunk& chunk) const {
  const int component = view_.terms[term].component_begin;
  if (const FarField::Functions* far = predictor.far_of(term))
    return chunk.evaluator.add_combination(component, *far, points_of(chunk), eta_of(term, chunk).data());
  const double* cells = predictor.cells_of(term);
  if (cells == nullptr) return add_predictor(term, predictor.raw_coef(), chunk);
  chunk.evaluator.add_curve(component, cells, points_of(chunk), evaluated, eta_of(term, chunk).data());
}

}  // namespace TESSERA_NAMESPACE::gam
