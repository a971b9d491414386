// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/curve_predictor.hpp"

#include "base/at.hpp"
#include "gam/terms/point_values.hpp"

namespace TESSERA_NAMESPACE::gam {

using base::at;

namespace {

bool has_one_component(const TermTable& term) {
  return term.combined < 0 && term.component_end == term.component_begin + 1;
}

}  // namespace

const ComponentTable* lone_curve(const LayoutView& view, int term) {
  const TermTable& table = view.terms[term];
  const ComponentTable* const component = view.components + table.component_begin;
  return has_one_component(table) && is_curve(*component) ? component : nullptr;
}

const FarField* lone_far_field(const RowLayout& layout, int term) {
  const TermTable& table = layout.terms[at(term)];
  if (!has_one_component(table)) return nullptr;
  return layout.tables.far_fields[at(table.component_begin)].get();
}

CurvePredictor::CurvePredictor(const RowLayout& layout, std::span<const double> raw_coef)
    : raw_coef_(raw_coef.begin(), raw_coef.end()) {
  const LayoutView view = layout.view();
  cells_.resize(at(view.term_count));
  far_.resize(at(view.term_count));
  needs_values_.assign(at(view.term_count), true);
  for (int t = 0; t < view.term_count; ++t) {
    const double* coef = raw_coef_.data() + view.terms[t].raw_begin;
    if (const FarField* field = lone_far_field(layout, t)) {
      far_[at(t)] = field->combined(coef);
      needs_values_[at(t)] = false;
    }
    const ComponentTable* component = lone_curve(view, t);
    if (component == nullptr) continue;
    cells_[at(t)] = curve_cells(*component, view.numbers, coef);
    needs_values_[at(t)] = false;
  }
  for (int t = 0; t < view.term_count; ++t) {
    if (view.terms[t].combined >= 0) needs_values_[at(view.terms[t].combined)] = true;
  }
}

}  // namespace TESSERA_NAMESPACE::gam
