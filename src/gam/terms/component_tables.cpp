// SPDX-License-Identifier: Apache-2.0
#include "gam/terms/component_tables.hpp"

#include "base/at.hpp"
#include "gam/terms/evaluation.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// The cell that defines t in a slot; for an extrapolation, the neighbouring cell.
std::size_t cell_of_slot(const Margin& margin, std::size_t slot) {
  return std::clamp<std::size_t>(slot, 1, margin.cells.size()) - 1;
}

/// Tabulates the number of breaks before each of the equal parts of the margin's range: a search for a value
/// begins there. `part_of_margin` increases with the value, so all breaks of earlier parts are below the
/// value.
void tabulate_parts(const Margin& margin, MarginTable& table, std::vector<double>& numbers) {
  constexpr int many = 64;
  if (table.uniform || table.cells < many) return;
  table.parts = static_cast<int>(std::bit_ceil(at(table.cells)));
  table.inverse_part = table.parts / (table.end - table.begin);
  std::vector<int> counts(at(table.parts));
  for (const double one : margin.breaks) ++counts[at(part_of_margin(table, one))];
  table.breaks_of_part = *std::ranges::max_element(counts);
  // Padding: a search may read beyond the last break.
  numbers.insert(numbers.end(), at(table.breaks_of_part), std::numeric_limits<double>::quiet_NaN());
  table.breaks_before = static_cast<std::int64_t>(numbers.size());
  int before = 0;
  for (const int count : counts) {
    numbers.push_back(before);
    before += count;
  }
}

/// For each slot, the cubics of its four values, as 4 powers of t x 4 values.
std::vector<std::array<double, 16>> powers_of_slots(const Margin& margin) {
  const auto cells = margin.cells.size();
  std::vector<std::array<double, 16>> out(cells + 2);
  for (std::size_t slot = 0; slot < out.size(); ++slot) {
    std::array<double, 16>& powers = out[slot];
    for (std::size_t a = 0; a < 4; ++a) {
      const double* c = margin.cells[cell_of_slot(margin, slot)].data() + 4 * a;
      if (slot == 0) {
        powers[a] = c[0];
        powers[4 + a] = c[1];
      } else if (slot == cells + 1) {
        const double slope = c[1] + 2 * c[2] + 3 * c[3];
        powers[a] = c[0] + c[1] + c[2] + c[3] - slope;
        powers[4 + a] = slope;
      } else {
        for (std::size_t power = 0; power < 4; ++power) powers[4 * power + a] = c[power];
      }
    }
  }
  return out;
}

/// Tabulates a margin, except its cubics.
MarginTable tabulate(const Margin& margin, std::vector<double>& numbers) {
  MarginTable table;
  table.cells = margin.cell_count();
  table.stride = margin.stride;
  table.uniform = margin.uniform;
  table.cyclic = margin.cyclic;
  table.alike = std::adjacent_find(margin.cells.begin(), margin.cells.end(), std::not_equal_to<>()) ==
                margin.cells.end();
  table.begin = margin.breaks.front();
  table.end = margin.breaks.back();
  table.inverse_step = table.cells / (table.end - table.begin);
  const auto next = [&] { return static_cast<std::int64_t>(numbers.size()); };
  table.breaks = next();
  numbers.insert(numbers.end(), margin.breaks.begin(), margin.breaks.end());
  tabulate_parts(margin, table, numbers);
  table.origins = next();
  for (std::size_t slot = 0; slot < margin.cells.size() + 2; ++slot)
    numbers.push_back(margin.breaks[cell_of_slot(margin, slot)]);
  table.inverse_widths = next();
  for (std::size_t slot = 0; slot < margin.cells.size() + 2; ++slot) {
    const std::size_t cell = cell_of_slot(margin, slot);
    numbers.push_back(1 / (margin.breaks[cell + 1] - margin.breaks[cell]));
  }
  return table;
}

/// For each slot, the cubics of the dense columns, as 4 powers of t x columns.
void tabulate(const Margin& margin, const Matrix& combinations, std::vector<double>& numbers) {
  const std::vector<std::array<double, 16>> slots = powers_of_slots(margin);
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    const int first = static_cast<int>(cell_of_slot(margin, slot)) * margin.stride;
    for (std::size_t power = 0; power < 4; ++power) {
      for (int j = 0; j < combinations.cols(); ++j) {
        const double* weights = combinations.column(j).data() + first;
        numbers.push_back(std::inner_product(weights, weights + 4, slots[slot].begin() + 4 * power, 0.0));
      }
    }
  }
}

void tabulate(const IsotropicColumns& from, const Matrix& combinations, ComponentTable& table,
              std::vector<double>& numbers) {
  const auto next = [&] { return static_cast<std::int64_t>(numbers.size()); };
  table.function = from.function;
  table.points = from.points.rows();
  table.polynomials = static_cast<int>(from.powers.size());
  table.coordinates = next();
  const auto coordinates = from.points.values();
  numbers.insert(numbers.end(), coordinates.begin(), coordinates.end());
  table.powers = next();
  for (const std::vector<int>& powers : from.powers)
    numbers.insert(numbers.end(), powers.begin(), powers.end());
  table.combinations = next();
  for (int panel = 0; panel < table.columns; panel += 4) {
    for (int i = 0; i < combinations.rows(); ++i) {
      for (int j = panel; j < panel + 4; ++j) numbers.push_back(combinations(i, j));
    }
  }
}

/// A component without parts gets one: the variable itself.
void add_parts(const Component& component, ComponentTable& table, ComponentTables& tables) {
  table.part_begin = static_cast<int>(tables.part_variables.size());
  table.part_numbers = static_cast<std::int64_t>(tables.numbers.size());
  const auto add = [&](const NumericPart& part) {
    tables.part_variables.push_back(part.variable);
    tables.numbers.insert(tables.numbers.end(), {part.centre, part.factor});
    ++table.parts;
  };
  if (component.isotropic) {
    const std::vector<double>& shift = component.isotropic->shift;
    std::size_t place = 0;
    Component::for_each_variable(component, [&](int variable) { add({variable, shift[place++], 1}); });
    return;
  }
  if (component.parts.empty()) add({component.variable, 0, 1});
  for (const NumericPart& part : component.parts) add(part);
}

}  // namespace

void ComponentTables::add(const Component& component) {
  ComponentTable table;
  table.kind = component.kind;
  table.variable = component.variable;
  if (component.kind == Component::Kind::spline) {
    table.margin = tabulate(component.margin, numbers);
    table.margin.cubics = static_cast<std::int64_t>(numbers.size());
    for (const std::array<double, 16>& powers : powers_of_slots(component.margin))
      numbers.insert(numbers.end(), powers.begin(), powers.end());
  }
  if (component.kind == Component::Kind::dense) {
    table.columns = component.combinations.cols();
    if (component.isotropic) {
      tabulate(*component.isotropic, component.combinations, table, dense_numbers_);
      add_parts(component, table, *this);
    } else {
      table.margin = tabulate(component.margin, dense_numbers_);
      table.combinations = static_cast<std::int64_t>(dense_numbers_.size());
      tabulate(component.margin, component.combinations, dense_numbers_);
    }
  }
  if (component.kind == Component::Kind::numeric) add_parts(component, table, *this);
  components.push_back(table);
  far_fields.push_back(component.isotropic ? component.isotropic->far_field : nullptr);
}

void ComponentTables::finish() {
  const auto begin = static_cast<std::int64_t>(numbers.size());
  for (ComponentTable& table : components) {
    if (table.kind != ComponentKind::dense) continue;
    for (std::int64_t* place :
         {&table.margin.breaks, &table.margin.origins, &table.margin.inverse_widths,
          &table.margin.breaks_before, &table.combinations, &table.coordinates, &table.powers})
      *place += begin;
  }
  numbers.insert(numbers.end(), dense_numbers_.begin(), dense_numbers_.end());
  dense_numbers_ = {};
}

std::vector<int> nonzero_offsets(std::span<const Component> components, std::span<const int> strides) {
  std::vector<int> nonzero{0};
  for (std::size_t i = 0; i < components.size(); ++i) {
    const int count = components[i].nonzeros();
    if (count == 1) continue;
    std::vector<int> longer;
    longer.reserve(nonzero.size() * at(count));
    for (const int offset : nonzero) {
      for (int k = 0; k < count; ++k) longer.push_back(offset + k * strides[i]);
    }
    nonzero = std::move(longer);
  }
  return nonzero;
}

}  // namespace TESSERA_NAMESPACE::gam
