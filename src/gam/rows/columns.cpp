// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/columns.hpp"

#include <set>

namespace tessera::gam {

std::vector<int> variables_read(const Rows& rows) {
  std::set<int> read(rows.offsets.begin(), rows.offsets.end());
  if (rows.response >= 0) read.insert(rows.response);
  if (rows.prior_weight >= 0) read.insert(rows.prior_weight);
  for (const RawTerm& term : rows.design->terms) {
    for (const Component& component : term.components)
      Component::for_each_variable(component, [&](int variable) { read.insert(variable); });
  }
  return {read.begin(), read.end()};
}

std::int64_t column_bytes_per_row(const Rows& rows) {
  std::size_t bytes = sizeof(rows.frame->complete[0]);
  for (const int index : variables_read(rows)) {
    const Variable& variable = rows.frame->variables[static_cast<std::size_t>(index)];
    bytes += variable.factor ? sizeof(variable.codes[0]) : sizeof(variable.numbers[0]);
  }
  return static_cast<std::int64_t>(bytes);
}

}  // namespace tessera::gam
