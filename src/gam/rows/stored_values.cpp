// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/stored_values.hpp"

#include "base/at.hpp"
#include "gam/rows/rows_view.hpp"

#include <span>

namespace TESSERA_NAMESPACE::gam {

using base::at;

StoredValues::StoredValues(const RowLayout& layout, const std::vector<bool>& read)
    : dense_begins(layout.tables.components.size(), -1) {
  for (std::size_t t = 0; t < layout.terms.size(); ++t) {
    const TermTable& term = layout.terms[t];
    value_begins.push_back(read[t] ? per_row : -1);
    if (read[t]) per_row += term.nonzeros;
    for (int i = term.component_begin; i < term.component_end; ++i) {
      const ComponentTable& component = layout.tables.components[at(i)];
      if (component.kind != ComponentKind::dense) continue;
      if (is_dense_alone(term)) {
        dense_begins[at(i)] = value_begins[t];
      } else {
        dense_begins[at(i)] = per_row;
        per_row += component.columns;
      }
    }
  }
}

StoredValues values_of_pass(const RowLayout& layout, PassKind kind, const CrossPlan* cross) {
  const std::span<const Product> products = layout.products(kind);
  std::vector<bool> read(layout.terms.size());
  if (!products.empty()) read.back() = true;
  for (std::size_t i = 0; i < products.size(); ++i) {
    if (cross != nullptr && cross->share(kind).forms[i]) continue;
    read[at(products[i].row_term)] = true;
    read[at(products[i].column_term)] = true;
  }
  // In all passes but moments, tensor cores read the dense columns, except columns of ones.
  if (cross != nullptr && kind != PassKind::moments && !products.empty()) {
    for (const int term : cross->dense_terms)
      read[at(term)] =
          layout.terms[at(term)].component_begin < layout.terms[at(term)].component_end || read[at(term)];
  }
  return {layout, read};
}

}  // namespace TESSERA_NAMESPACE::gam
