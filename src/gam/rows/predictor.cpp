// SPDX-License-Identifier: Apache-2.0
#include "base/at.hpp"
#include "gam/basis/basis.hpp"
#include "gam/rows/row_pass.hpp"

#include <algorithm>

namespace tessera::gam {
namespace {

using base::at;

double numeric_value(const Frame& frame, const Component& component, std::size_t row) {
  if (component.parts.empty()) return frame.variables[at(component.variable)].numbers[row];
  double sum = 0;
  for (const NumericPart& part : component.parts)
    sum += (frame.variables[at(part.variable)].numbers[row] - part.centre) * part.factor;
  return sum;
}

/// Calls `use(column, value)` for each nonzero of a term in a row, in increasing order of raw columns, from
/// component `next` on; `column` and `value` are what the components before it make.
template <class Use>
void visit_nonzeros(const Frame& frame, const RawTerm& term, std::size_t row, std::size_t next, int column,
                    double value, const Use& use) {
  if (next == term.components.size()) {
    use(term.raw_begin + column, value);
    return;
  }
  const Component& component = term.components[next];
  const Variable& variable = frame.variables[at(component.variable)];
  const int begin = column * component.raw_size();
  switch (component.kind) {
    case Component::Kind::numeric:
      visit_nonzeros(frame, term, row, next + 1, begin, value * numeric_value(frame, component, row), use);
      break;
    case Component::Kind::factor:
      if (variable.codes[row] < 0) break;  // a level that the model lacks has no column
      visit_nonzeros(frame, term, row, next + 1, begin + variable.codes[row], value, use);
      break;
    case Component::Kind::spline: {
      const LocalValues local = evaluate(component.margin, variable.numbers[row]);
      for (int a = 0; a < 4; ++a) {
        visit_nonzeros(frame, term, row, next + 1, begin + local.first + a, value * local.values[at(a)], use);
      }
      break;
    }
  }
}

/// The same of all terms of a design.
template <class Use>
void visit_nonzeros(const Frame& frame, const Design& design, std::size_t row, const Use& use) {
  for (const RawTerm& term : design.terms) {
    if (!term.is_dense()) {
      visit_nonzeros(frame, term, row, 0, 0, 1.0, use);
      continue;
    }
    const RawTerm& from = design.terms[at(term.combined)];
    std::vector<double> values(at(term.raw_size));
    visit_nonzeros(frame, from, row, 0, 0, 1.0, [&](int column, double value) {
      for (int j = 0; j < term.raw_size; ++j)
        values[at(j)] += value * term.combinations(column - from.raw_begin, j);
    });
    for (int j = 0; j < term.raw_size; ++j) use(term.raw_begin + j, values[at(j)]);
  }
}

}  // namespace

double linear_predictor(const Frame& frame, const Design& design, std::size_t row,
                        std::span<const double> raw_coef) {
  double sum = 0;
  visit_nonzeros(frame, design, row, [&](int column, double value) { sum += value * raw_coef[at(column)]; });
  return sum;
}

double linear_predictor(const Rows& rows, std::size_t row, std::span<const double> raw_coef) {
  double sum = linear_predictor(*rows.frame, *rows.design, row, raw_coef);
  for (const int offset : rows.offsets)
    sum += rows.response_factor * rows.frame->variables[at(offset)].numbers[row];
  return sum;
}

void coefficient_row(const Frame& frame, const Design& design, std::size_t row, std::span<double> x) {
  std::fill(x.begin(), x.end(), 0.0);
  struct Nonzero {
    int column;
    double value;
  };
  std::vector<Nonzero> nonzeros;
  visit_nonzeros(frame, design, row, [&](int column, double value) { nonzeros.push_back({column, value}); });
  for (const CoefBlock& block : design.blocks) {
    // Terms follow one another in raw columns, so all nonzeros are in order.
    auto next = std::lower_bound(nonzeros.begin(), nonzeros.end(), block.raw_begin,
                                 [](const Nonzero& nonzero, int column) { return nonzero.column < column; });
    for (; next != nonzeros.end() && next->column < block.raw_begin + block.raw_size; ++next) {
      if (block.has_identity_map()) {
        x[at(block.coef_begin + next->column - block.raw_begin)] += next->value;
        continue;
      }
      for (int j = 0; j < block.coef_size; ++j) {
        x[at(block.coef_begin + j)] += next->value * block.map(next->column - block.raw_begin, j);
      }
    }
  }
}

}  // namespace tessera::gam
