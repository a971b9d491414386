// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/curve_predictor.hpp"

#include "base/at.hpp"
#include "gam/terms/point_values.hpp"

namespace tessera::gam {

using base::at;

CurvePredictor::CurvePredictor(const RowLayout& layout, std::span<const double> raw_coef)
    : raw_coef_(raw_coef.begin(), raw_coef.end()) {
  const LayoutView view = layout.view();
  cells_.resize(at(view.term_count));
  needs_values_.assign(at(view.term_count), true);
  for (int t = 0; t < view.term_count; ++t) {
    const TermTable& term = view.terms[t];
    if (term.combined >= 0 || term.component_end != term.component_begin + 1) continue;
    const ComponentTable& component = view.components[term.component_begin];
    if (!is_curve(component)) continue;
    cells_[at(t)] = curve_cells(component, view.numbers, raw_coef_.data() + term.raw_begin);
    needs_values_[at(t)] = false;
  }
  for (int t = 0; t < view.term_count; ++t) {
    if (view.terms[t].combined >= 0) needs_values_[at(view.terms[t].combined)] = true;
  }
}

}  // namespace tessera::gam
