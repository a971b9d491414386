// SPDX-License-Identifier: Apache-2.0
// The terms of one row, for the kernels of every pass, compiled at run time for one model. kernel_source.cpp
// writes `rows_constants.hpp`, with the constants known before the rows are read.
#pragma once

#include "gam/rows/evaluation.hpp"
#include "gam/rows/rows_view.hpp"
#include "rows_constants.hpp"

#include <cstdint>

namespace TESSERA_NAMESPACE::gam {

constexpr int placements_of(const TermTable& term) {
  return term.placement_end - term.placement_begin;
}

/// `values` holds the product of the term's components before i, as `count` numbers. Multiplies it by
/// components i, i + 1, …, and adds their first columns to the start of each placement.
template <int t, int i, int count>
void add_components(const RowsView& rows, std::int64_t row, double* values, int* starts) {
  constexpr TermTable term = fixed::terms[t];
  if constexpr (term.component_begin + i < term.component_end) {
    constexpr ComponentTable component = fixed::components[term.component_begin + i];
    int first = 0;
    if constexpr (component.kind == ComponentKind::factor) {
      first = rows.columns.codes[component.variable][row];
      // In a prediction, an unseen level of a random effect has no column.
      if (first < 0) {
        first = 0;
#pragma unroll
        for (int k = 0; k < count; ++k) values[k] = 0;
      }
    } else if constexpr (component.kind == ComponentKind::numeric) {
      double sum = 0;
#pragma unroll
      for (int part = 0; part < component.parts; ++part) {
        const double x = rows.columns.numbers[fixed::part_variables[component.part_begin + part]][row];
        sum += numeric_part(rows.numbers + component.part_numbers + 2 * part, x);
      }
#pragma unroll
      for (int k = 0; k < count; ++k) values[k] *= sum;
    } else if constexpr (component.kind == ComponentKind::dense) {
      double own[component.columns];
      const ComponentTable& known = rows.components[term.component_begin + i];
      if constexpr (component.parts > 0) {
        double u[component.parts];
#pragma unroll
        for (int part = 0; part < component.parts; ++part) {
          u[part] =
              numeric_part(rows.numbers + component.part_numbers + 2 * part,
                           rows.columns.numbers[fixed::part_variables[component.part_begin + part]][row]);
        }
#pragma unroll
        for (int k = 0; k < component.columns; ++k) own[k] = 0;
        const std::int64_t panel = std::int64_t{4} * (known.points + known.polynomials);
        for_each_isotropic_function(known, component.parts, rows.numbers, u, [&](int j, double value) {
          const double* weights = rows.numbers + known.combinations + std::int64_t{4} * j;
#pragma unroll
          for (int k = 0; k < component.columns; ++k) own[k] += value * weights[k / 4 * panel + k % 4];
        });
      } else {
        dense_values(known, rows.numbers, rows.columns.numbers[component.variable][row], own);
      }
      expand(values, count, own, component.columns);
    } else {
      const double x = rows.columns.numbers[component.variable][row];
      MarginTable margin = component.margin;
      const MarginTable& known = rows.components[term.component_begin + i].margin;
      margin.begin = known.begin;
      margin.end = known.end;
      margin.inverse_step = known.inverse_step;
      const Located located = locate(margin, rows.numbers, x);
      double four[4];
      local_values(margin, rows.numbers, located, four);
      expand(values, count, four, 4);
      first = located.first;
    }
#pragma unroll
    for (int p = 0; p < placements_of(term); ++p) {
      starts[p] += fixed::strides[fixed::placements[term.placement_begin + p].stride_begin + i] * first;
    }
    constexpr int more = component.kind == ComponentKind::dense    ? component.columns
                         : component.kind == ComponentKind::spline ? 4
                                                                   : 1;
    add_components<t, i + 1, count * more>(rows, row, values, starts);
  }
}

/// The values and starts of term t in one row.
template <int t>
struct EvaluatedTerm {
  double values[fixed::terms[t].nonzeros];
  int starts[placements_of(fixed::terms[t])];
};

template <int t>
EvaluatedTerm<t> evaluate(const RowsView& rows, std::int64_t row) {
  EvaluatedTerm<t> here;
  here.values[0] = 1;
#pragma unroll
  for (int& start : here.starts) start = 0;
  add_components<t, 0, 1>(rows, row, here.values, here.starts);
  return here;
}

/// The dot product of the term's values with the coefficients of their raw columns.
template <int t>
double sum_with(const EvaluatedTerm<t>& here, const double* raw_coef) {
  constexpr TermTable term = fixed::terms[t];
  const double* coef = raw_coef + term.raw_begin + here.starts[0];
  double sum = 0;
#pragma unroll
  for (int k = 0; k < term.nonzeros; ++k)
    sum += coef[fixed::offsets[fixed::placements[term.placement_begin].offset_begin + k]] * here.values[k];
  return sum;
}

/// The sum of the row's offsets of a linear predictor.
inline double offset_of(const RowsView& rows, std::int64_t row, int predictor = 0) {
  double offset = 0;
#pragma unroll
  for (int i = 0; i < fixed::offset_count; ++i)
    if (fixed::offset_predictors[i] == predictor)
      offset += rows.response_factor * rows.columns.numbers[fixed::offset_variables[i]][row];
  return offset;
}

}  // namespace TESSERA_NAMESPACE::gam
