// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/chunk.hpp"

#include "base/at.hpp"

#include <algorithm>
#include <type_traits>

namespace tessera::gam {

using base::at;

RowChunk::RowChunk(const LayoutView& view)
    : index(chunk_rows),
      offset(chunk_rows),
      eta(chunk_rows),
      first(chunk_rows),
      part(4 * at(chunk_rows)),
      starts(at(view.placement_count) * chunk_rows),
      values(at(view.values_per_row) * chunk_rows) {}

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
  std::fill(chunk.offset.begin(), chunk.offset.end(), 0.0);
  for (const int variable : rows_.offsets) {
    const double* numbers = frame.variables[at(variable)].numbers.data();
    for (int r = 0; r < count; ++r)
      chunk.offset[at(r)] += rows_.response_factor * numbers[chunk.index[at(r)]];
  }
  chunk.eta = chunk.offset;
}

void RowEvaluator::evaluate_component(const ComponentTable& component, const RowChunk& chunk,
                                      int* __restrict starts, double* __restrict values) const {
  const Variable& variable = rows_.frame->variables[at(component.variable)];
  const std::size_t* index = chunk.index.data();
  switch (component.kind) {
    case Component::Kind::numeric:
      std::fill_n(starts, chunk.count, 0);
      std::fill_n(values, chunk.count, 0.0);
      for (int part = 0; part < component.parts; ++part) {
        const int column = view_.part_variables[component.part_begin + part];
        const double* numbers = rows_.frame->variables[at(column)].numbers.data();
        const double* standard = view_.numbers + component.part_numbers + std::ptrdiff_t{2} * part;
        for (int r = 0; r < chunk.count; ++r) values[r] += numeric_part(standard, numbers[index[r]]);
      }
      break;
    case Component::Kind::factor:
      for (int r = 0; r < chunk.count; ++r) {
        // A level that the model has not, of a random effect that is predicted, has no column.
        const std::int32_t level = variable.codes[index[r]];
        starts[r] = std::max(level, 0);
        values[r] = level < 0 ? 0 : 1;
      }
      break;
    case Component::Kind::spline: {
      const double* numbers = variable.numbers.data();
      const MarginTable margin = component.margin;
      for (int r = 0; r < chunk.count; ++r) {
        const Located located = locate(margin, view_.numbers, numbers[index[r]]);
        starts[r] = located.first;
        local_values(margin, view_.numbers, located, values + std::ptrdiff_t{4} * r);
      }
      break;
    }
  }
}

void RowEvaluator::evaluate_term(int term_index, RowChunk& chunk) const {
  const TermTable& term = view_.terms[term_index];
  const int count = chunk.count;
  double* values = chunk.values_of(term);
  for (int p = term.placement_begin; p < term.placement_end; ++p) {
    int* starts = chunk.starts_of(p);
    std::fill(starts, starts + count, 0);
  }
  if (const RowLayout::Combined& combined = layout_.combined(term_index); combined.term >= 0)
    return combine(combined, term_index, chunk);
  if (term.component_begin == term.component_end) std::fill(values, values + count, 1.0);
  int nonzeros = 1;
  for (int c = term.component_begin; c < term.component_end; ++c) {
    const ComponentTable& component = view_.components[c];
    const bool spline = component.kind == Component::Kind::spline;
    const bool only_one_yet = c == term.component_begin;
    double* part = only_one_yet ? values : chunk.part.data();
    evaluate_component(component, chunk, chunk.first.data(), part);
    if (only_one_yet) {
      nonzeros = spline ? 4 : 1;
    } else if (spline) {
      // Rows grow to four times their length, so the last goes first.
      for (int r = count - 1; r >= 0; --r) {
        double* from = values + static_cast<std::ptrdiff_t>(r) * nonzeros;
        double* to = values + static_cast<std::ptrdiff_t>(r) * nonzeros * 4;
        std::copy_backward(from, from + nonzeros, to + nonzeros);
        expand_by_four(to, nonzeros, part + static_cast<std::ptrdiff_t>(4) * r);
      }
      nonzeros *= 4;
    } else {
      for (int r = 0; r < count; ++r) {
        for (int k = 0; k < nonzeros; ++k) values[r * nonzeros + k] *= part[r];
      }
    }
    for (int p = term.placement_begin; p < term.placement_end; ++p) {
      const int stride = view_.strides[view_.placements[p].stride_begin + c - term.component_begin];
      int* starts = chunk.starts_of(p);
      for (int r = 0; r < count; ++r) starts[r] += stride * chunk.first[at(r)];
    }
  }
}

/// Dense columns from the nonzeros of the other term.
void RowEvaluator::combine(const RowLayout::Combined& combined, int term_index, RowChunk& chunk) const {
  const TermTable& from = view_.terms[combined.term];
  const int columns = view_.terms[term_index].nonzeros;
  const double* values = chunk.values_of(from);
  const int* starts = chunk.starts_of(from.placement_begin);
  const int* offsets = view_.offsets + view_.placements[from.placement_begin].offset_begin;
  double* out = chunk.values_of(view_.terms[term_index]);
  std::fill_n(out, static_cast<std::ptrdiff_t>(chunk.count) * columns, 0.0);
  for (int r = 0; r < chunk.count; ++r, values += from.nonzeros, out += columns) {
    for (int k = 0; k < from.nonzeros; ++k) {
      const double* weights =
          combined.weights.data() + static_cast<std::ptrdiff_t>(starts[r] + offsets[k]) * columns;
      for (int c = 0; c < columns; ++c) out[c] += values[k] * weights[c];
    }
  }
}

void RowEvaluator::add_predictor(int term_index, std::span<const double> raw_coef, RowChunk& chunk) const {
  const TermTable& term = view_.terms[term_index];
  const double* values = chunk.values_of(term);
  const int* starts = chunk.starts_of(term.placement_begin);
  const int* offsets = view_.offsets + view_.placements[term.placement_begin].offset_begin;
  const double* coef = raw_coef.data() + term.raw_begin;
  const auto add = [&](auto nonzeros) {
    for (int r = 0; r < chunk.count; ++r, values += nonzeros) {
      double sum = 0;
      for (int k = 0; k < nonzeros; ++k) sum += coef[starts[r] + offsets[k]] * values[k];
      chunk.eta[at(r)] += sum;
    }
  };
  if (term.nonzeros == 4) {
    add(std::integral_constant<int, 4>{});
  } else {
    add(term.nonzeros);
  }
}

}  // namespace tessera::gam
