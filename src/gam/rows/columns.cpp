// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/columns.hpp"

#include <set>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr std::int64_t bytes_of_mark = sizeof(std::uint8_t);

std::int64_t bytes_of(const Variable& variable) {
  return variable.factor ? sizeof(std::int32_t) : sizeof(double);
}

}  // namespace

std::vector<int> variables_read(const Rows& rows) {
  std::set<int> read(rows.offsets.begin(), rows.offsets.end());
  for (const std::vector<int>& offsets : rows.further_offsets) read.insert(offsets.begin(), offsets.end());
  if (rows.response >= 0) read.insert(rows.response);
  if (rows.limit >= 0) read.insert(rows.limit);
  if (rows.prior_weight >= 0) read.insert(rows.prior_weight);
  if (rows.series.correlated() && rows.series.start >= 0) read.insert(rows.series.start);
  for (const RawTerm& term : rows.design->terms) {
    for (const Component& component : term.components)
      Component::for_each_variable(component, [&](int variable) { read.insert(variable); });
  }
  return {read.begin(), read.end()};
}

std::int64_t bytes_per_row(const Frame& frame) {
  std::int64_t bytes = bytes_of_mark;
  for (const Variable& variable : frame.variables) bytes += bytes_of(variable);
  return bytes;
}

std::int64_t column_bytes_per_row(const Rows& rows) {
  std::int64_t bytes = bytes_of_mark;
  for (const int index : variables_read(rows))
    bytes += bytes_of(rows.frame->variables[static_cast<std::size_t>(index)]);
  return bytes;
}

}  // namespace TESSERA_NAMESPACE::gam
