// SPDX-License-Identifier: Apache-2.0
#include "gam/design/coef_block_rows.hpp"

#include <cstddef>
#include <cstdint>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Copies of the components, in which variable i is the i-th value of a row.
std::vector<Component> at_places(std::span<const Component> components) {
  std::vector<Component> own(components.begin(), components.end());
  int place = 0;
  for (Component& one : own) {
    one.parts.clear();
    Component::for_each_variable(one, [&](int& variable) { variable = place++; });
  }
  return own;
}

}  // namespace

Combination sum_of(const Combination& a, double factor, const Combination& b) {
  Combination sum;
  std::size_t j = 0;
  for (const Weight& one : a) {
    for (; j < b.size() && b[j].coefficient < one.coefficient; ++j)
      sum.push_back({b[j].coefficient, factor * b[j].value});
    const bool both = j < b.size() && b[j].coefficient == one.coefficient;
    sum.push_back({one.coefficient, one.value + (both ? factor * b[j++].value : 0)});
  }
  for (; j < b.size(); ++j) sum.push_back({b[j].coefficient, factor * b[j].value});
  return sum;
}

CoefBlockRows::CoefBlockRows(const CoefBlock& block, std::span<const Component> components)
    : block_(block), components_(at_places(components)), evaluator_(components_) {}

Combination CoefBlockRows::at(std::span<const double> values) {
  std::vector<std::int32_t> levels(values.size());
  for (const Component& component : components_) {
    const auto place = static_cast<std::size_t>(component.variable);
    if (component.kind == Component::Kind::factor) levels[place] = static_cast<std::int32_t>(values[place]);
  }
  std::vector<NumberView> numbers;
  std::vector<const std::int32_t*> codes;
  for (std::size_t i = 0; i < values.size(); ++i) {
    numbers.emplace_back(&values[i]);
    codes.push_back(&levels[i]);
  }
  const std::size_t first_row = 0;
  Combination raw;
  evaluator_.for_each_nonzero({numbers.data(), codes.data(), &first_row, 1},
                              [&](int /*point*/, int column, double value) {
                                raw.push_back({column, value});
                              });
  // Computes M'r. A row has one level of a random effect or factor smooth, and so uses one copy of the map.
  Combination row;
  if (raw.empty()) return row;
  const auto [first, last] = block_.coefficients_at(raw.front().coefficient);
  for (int j = first; j < last; ++j) {
    double value = 0;
    for (const Weight& one : raw) value += one.value * block_.map_at(one.coefficient, j);
    if (value != 0) row.push_back({block_.coef_begin + j, value});
  }
  return row;
}

}  // namespace TESSERA_NAMESPACE::gam
