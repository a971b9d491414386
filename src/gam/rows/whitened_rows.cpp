// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/whitened_rows.hpp"

#include "base/at.hpp"

#include <algorithm>
#include <cstddef>

namespace TESSERA_NAMESPACE::gam {

using base::at;

WhitenedRows::WhitenedRows(const RowLayout& layout)
    : view_(layout.view()), factors_(chunk_rows), apart_(at(view_.term_count) + 1) {
  const std::size_t values = at(view_.values_per_row);
  const std::size_t placements = at(view_.placement_count);
  own_ = {std::vector<double>(values * chunk_rows), std::vector<int>(placements * chunk_rows)};
  before_ = own_;
  last_ = {std::vector<double>(values), std::vector<int>(placements)};
}

void WhitenedRows::keep_last(const RowChunk& chunk, double root) {
  const std::ptrdiff_t row = chunk.count - 1;
  for (int t = 0; t <= view_.term_count; ++t) {
    const TermTable& term = view_.terms[t];
    std::copy_n(chunk.values.data() + term.value_begin * chunk_rows + row * term.nonzeros, term.nonzeros,
                last_.values.data() + term.value_begin);
  }
  for (int p = 0; p < view_.placement_count; ++p)
    last_.starts[at(p)] = chunk.starts[at(static_cast<std::ptrdiff_t>(p) * chunk_rows + row)];
  last_root_ = root;
  has_before_ = true;
}

void WhitenedRows::transform(const RowChunk& chunk, std::span<const double> roots,
                             std::span<const std::uint8_t> begins, NeighbourWeights weights) {
  for (int r = 0; r < chunk.count; ++r) {
    const bool alone = begins[at(r)] != 0 || (r == 0 && !has_before_);
    factors_[at(r)] = {roots[at(r)], 0};
    if (alone) continue;
    factors_[at(r)].own *= weights.own;
    factors_[at(r)].before = weights.before * (r > 0 ? roots[at(r - 1)] : last_root_);
  }
  for (int term = 0; term <= view_.term_count; ++term) transform_term(chunk, term);
}

void WhitenedRows::transform_term(const RowChunk& chunk, int index) {
  const TermTable& term = view_.terms[index];
  const int nonzeros = term.nonzeros;
  const std::ptrdiff_t begin = term.value_begin * chunk_rows;
  const auto starts_of = [&](int placement) { return static_cast<std::ptrdiff_t>(placement) * chunk_rows; };
  apart_[at(index)] = 0;
  for (int r = 0; r < chunk.count; ++r) {
    const NeighbourWeights factors = factors_[at(r)];
    const std::ptrdiff_t first = begin + static_cast<std::ptrdiff_t>(r) * nonzeros;
    const double* values = chunk.values.data() + first;
    const double* previous = r > 0 ? values - nonzeros : last_.values.data() + term.value_begin;
    const auto previous_start = [&](int placement) {
      return r > 0 ? chunk.starts[at(starts_of(placement) + r - 1)] : last_.starts[at(placement)];
    };
    // The first placement omits no component, so its start determines all columns.
    const bool same =
        previous_start(term.placement_begin) == chunk.starts[at(starts_of(term.placement_begin) + r)];
    double* own = own_.values.data() + first;
    double* before = before_.values.data() + first;
    for (int k = 0; k < nonzeros; ++k) {
      own[k] = factors.own * values[k];
      before[k] = 0;
      // Without a predecessor, `previous` may hold NaN.
      if (factors.before == 0) continue;
      (same ? own[k] : before[k]) += factors.before * previous[k];
    }
    const bool two = factors.before != 0 && !same;
    if (two) apart_[at(index)] = 1;
    for (int p = term.placement_begin; p < term.placement_end; ++p) {
      const int start = chunk.starts[at(starts_of(p) + r)];
      own_.starts[at(starts_of(p) + r)] = start;
      before_.starts[at(starts_of(p) + r)] = two ? previous_start(p) : start;
    }
  }
}

double WhitenedRows::residual(int row) const {
  return own_.values[at(view_.terms[view_.term_count].value_begin * chunk_rows + row)];
}

ProductSide WhitenedRows::side(bool before, int term, int placement) const {
  const Half& half = before ? before_ : own_;
  return {half.values.data() + view_.terms[term].value_begin * chunk_rows,
          half.starts.data() + static_cast<std::ptrdiff_t>(placement) * chunk_rows};
}

}  // namespace TESSERA_NAMESPACE::gam
