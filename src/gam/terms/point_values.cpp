// SPDX-License-Identifier: Apache-2.0
#include "gam/terms/point_values.hpp"

#include "base/at.hpp"
#include "base/vectors.hpp"
#include "gam/terms/evaluation.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <type_traits>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// Number of points whose sums are in registers at once.
constexpr int points_of_tile = 8;

#define TESSERA_TEXT "gam/terms/curve_values_text.hpp"
#include "base/each_width.hpp"

int nonzeros_of(const ComponentTable& component) {
  return component.kind == ComponentKind::dense    ? component.columns
         : component.kind == ComponentKind::spline ? 4
                                                   : 1;
}

ComponentTables tables_of(std::span<const Component> components) {
  ComponentTables tables;
  for (const Component& component : components) tables.add(component);
  tables.finish();
  return tables;
}

/// Strides of the components in their product; the last component varies fastest.
std::vector<int> strides_of(std::span<const Component> components) {
  std::vector<int> strides(components.size());
  int size = 1;
  for (std::size_t i = strides.size(); i-- > 0;) {
    strides[i] = size;
    size *= components[i].raw_size();
  }
  return strides;
}

}  // namespace

std::vector<double> curve_cells(const ComponentTable& component, const double* numbers, const double* coef) {
  const MarginTable& margin = component.margin;
  const bool is_dense = component.kind == ComponentKind::dense;
  const int columns = is_dense ? component.columns : 4;
  std::vector<double> cells;
  for (int slot = 0; slot < margin.cells + 2; ++slot) {
    const double* cubics =
        is_dense ? dense_cubics_at(component, numbers, slot) : cubics_at(margin, numbers, slot);
    const double* of_cell = is_dense ? coef : coef + first_of_slot(margin, slot);
    for (int power = 0; power < numbers_of_cell; ++power, cubics += columns)
      cells.push_back(std::inner_product(of_cell, of_cell + columns, cubics, 0.0));
  }
  return cells;
}

void add_columns_of_moments(const ComponentTable& component, const double* numbers, const double* sums,
                            double* out) {
  TESSERA_AT_WIDTH(add_dense_sums(component, numbers, sums, out));
}

PointEvaluator::PointEvaluator(const ComponentTables& tables, int points)
    : tables_(tables),
      first_(at(points)),
      x_(at(points)),
      slots_(at(points)),
      prepared_values_(tables.components.size()),
      prepared_combinations_(tables.components.size()) {
  int most = 1;
  for (const ComponentTable& component : tables.components) most = std::max(most, nonzeros_of(component));
  part_.resize(at(most) * at(points));
}

void PointEvaluator::start(int points, double* values) {
  std::fill_n(values, points, 1.0);
}

int PointEvaluator::multiply_in(int component_index, bool is_first, int nonzeros, const Points& points,
                                double* values) {
  const ComponentTable& component = tables_.components[at(component_index)];
  const int more = nonzeros_of(component);
  double* part = is_first ? values : part_.data();
  evaluate_component(component, points, part);
  if (is_first) return more;
  if (more == 1) {
    for (int r = 0; r < points.count; ++r) {
      for (int k = 0; k < nonzeros; ++k) values[r * nonzeros + k] *= part[r];
    }
    return nonzeros;
  }
  // Values are expanded in place, from the last point to the first.
  const auto grow = [&](auto times) {
    for (int r = points.count - 1; r >= 0; --r) {
      double* from = values + static_cast<std::ptrdiff_t>(r) * nonzeros;
      double* to = values + static_cast<std::ptrdiff_t>(r) * nonzeros * times;
      std::copy_backward(from, from + nonzeros, to + nonzeros);
      expand(to, nonzeros, part + static_cast<std::ptrdiff_t>(times) * r, times);
    }
  };
  if (more == 4)
    grow(std::integral_constant<int, 4>{});
  else
    grow(more);
  return nonzeros * more;
}

void PointEvaluator::evaluate_component(const ComponentTable& component, const Points& points,
                                        double* __restrict values) {
  int* __restrict first = first_.data();
  const std::size_t* index = points.index;
  const double* table_numbers = tables_.numbers.data();
  switch (component.kind) {
    case ComponentKind::numeric:
      std::fill_n(first, points.count, 0);
      std::fill_n(values, points.count, 0.0);
      for (int part = 0; part < component.parts; ++part) {
        points.numbers[tables_.part_variables[at(component.part_begin + part)]].gather(
            std::span(points.index, at(points.count)), x_.data());
        const double* standard = table_numbers + component.part_numbers + std::ptrdiff_t{2} * part;
        for (int r = 0; r < points.count; ++r) values[r] += numeric_part(standard, x_[at(r)]);
      }
      break;
    case ComponentKind::factor:
      for (int r = 0; r < points.count; ++r) {
        // In a prediction, a level that the model lacks has a negative code, and contributes zero.
        const std::int32_t level = points.codes[component.variable][index[r]];
        first[r] = std::max(level, 0);
        values[r] = level < 0 ? 0 : 1;
      }
      break;
    case ComponentKind::spline:
    case ComponentKind::dense: {
      if (component.parts > 0) return evaluate_isotropic(component, points, values);
      locate_all(component, points);
      if (component.kind == ComponentKind::spline)
        return TESSERA_AT_WIDTH(spline_values(component.margin, table_numbers, points.count, x_.data(),
                                              slots_.data(), first, values));
      std::fill_n(first, points.count, 0);
      TESSERA_AT_WIDTH(
          dense_values_of_points(component, table_numbers, points.count, x_.data(), slots_.data(), values));
    }
  }
}

void PointEvaluator::locate_all(const ComponentTable& component, const Points& points) {
  points.numbers[component.variable].gather(std::span(points.index, at(points.count)), x_.data());
  TESSERA_AT_WIDTH(
      locate_points(component.margin, tables_.numbers.data(), points.count, x_.data(), slots_.data()));
}

void PointEvaluator::add_curve(int component, const double* cells, const Points& points, bool evaluated,
                               double* out) {
  if (!evaluated) locate_all(tables_.components[at(component)], points);
  TESSERA_AT_WIDTH(add_curve_values(cells, points.count, x_.data(), slots_.data(), out));
}

void PointEvaluator::add_moments(int component_index, const Points& points, double* sums) {
  const ComponentTable& component = tables_.components[at(component_index)];
  locate_all(component, points);
  for (int r = 0; r < points.count; ++r) {
    const double t = x_[at(r)];
    double* of_slot = sums + std::ptrdiff_t{4} * slots_[at(r)];
    const double square = t * t;
    of_slot[0] += 1;
    of_slot[1] += t;
    of_slot[2] += square;
    of_slot[3] += square * t;
  }
}

void PointEvaluator::shifted(const ComponentTable& component, const NumberView* numbers, std::size_t row,
                             double* u) const {
  const double* standard = tables_.numbers.data() + component.part_numbers;
  for (int v = 0; v < component.parts; ++v, standard += 2)
    u[v] = numeric_part(standard, numbers[tables_.part_variables[at(component.part_begin + v)]][row]);
}

void PointEvaluator::evaluate_isotropic(const ComponentTable& component, const Points& points,
                                        double* values) {
  std::fill_n(first_.data(), points.count, 0);
  const auto place = static_cast<std::size_t>(&component - tables_.components.data());
  if (tables_.far_fields[place] != nullptr) {
    const std::ptrdiff_t from = prepared_at(points);
    if (from >= 0 && !prepared_values_[place].empty()) {
      std::copy_n(prepared_values_[place].data() + from * component.columns,
                  std::ptrdiff_t{points.count} * component.columns, values);
      return;
    }
    return evaluate_by_leaves(place, points.numbers, std::span(points.index, at(points.count)), {}, values,
                              nullptr);
  }
  functions_.resize(at(component.points + component.polynomials) * points_of_tile);
  const double* numbers = tables_.numbers.data();
  std::vector<double> u(at(component.parts));
  for (int begin = 0; begin < points.count; begin += points_of_tile) {
    const int count = std::min(points_of_tile, points.count - begin);
    for (int r = 0; r < count; ++r) {
      shifted(component, points.numbers, points.index[begin + r], u.data());
      for_each_isotropic_function(component, component.parts, numbers, u.data(), [&](int i, double value) {
        functions_[at(points_of_tile) * at(i) + at(r)] = value;
      });
    }
    TESSERA_AT_WIDTH(combine_functions(component, numbers, count, functions_.data(),
                                       values + std::ptrdiff_t{begin} * component.columns));
  }
}

void PointEvaluator::evaluate_by_leaves(std::size_t component_index, const NumberView* numbers,
                                        std::span<const std::size_t> index, const FarWanted& wanted,
                                        double* values, double* combination) {
  const ComponentTable& component = tables_.components[component_index];
  const FarField& field = *tables_.far_fields[component_index];
  functions_.resize(field.scratch());
  std::vector<std::array<double, 2>> places(index.size());
  std::vector<int> leaf(index.size());
  std::vector<std::size_t> begins(at(field.leaves()) + 1);
  for (std::size_t i = 0; i < index.size(); ++i) {
    shifted(component, numbers, index[i], places[i].data());
    leaf[i] = field.leaf_of(places[i]);
    ++begins[at(leaf[i]) + 1];
  }
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  std::vector<std::size_t> order(index.size());
  std::vector<std::size_t> next(begins.begin(), begins.end() - 1);
  for (std::size_t i = 0; i < index.size(); ++i) order[next[at(leaf[i])]++] = i;
  std::array<std::array<double, 2>, FarField::together> u{};
  std::array<double*, FarField::together> columns{};
  std::array<double, FarField::together> combined{};
  const FarField::Wanted of_leaf{.columns = values == nullptr ? nullptr : columns.data(),
                                 .combined = combination == nullptr ? nullptr : wanted.combined,
                                 .combination = combined.data(),
                                 .sums = wanted.sums};
  for (int l = 0; l < field.leaves(); ++l) {
    for (std::size_t begin = begins[at(l)]; begin < begins[at(l) + 1]; begin += FarField::together) {
      const std::size_t count = std::min<std::size_t>(FarField::together, begins[at(l) + 1] - begin);
      for (std::size_t r = 0; r < count; ++r) {
        u.at(r) = places[order[begin + r]];
        if (values != nullptr) columns.at(r) = values + order[begin + r] * at(component.columns);
      }
      field.evaluate(l, static_cast<int>(count), u.data(), functions_.data(), of_leaf);
      for (std::size_t r = 0; r < count && combination != nullptr; ++r)
        combination[order[begin + r]] = combined.at(r);
    }
  }
}

std::ptrdiff_t PointEvaluator::prepared_at(const Points& points) const {
  if (points.count == 0 || prepared_numbers_ != points.numbers) return -1;
  const auto begin = std::ranges::lower_bound(prepared_, points.index[0]);
  const bool there = prepared_.end() - begin >= points.count && *begin == points.index[0] &&
                     begin[points.count - 1] == points.index[points.count - 1];
  return there ? begin - prepared_.begin() : -1;
}

bool PointEvaluator::has_far_fields() const {
  return std::ranges::any_of(tables_.far_fields, [](const auto& field) { return field != nullptr; });
}

void PointEvaluator::prepare(const NumberView* numbers, std::vector<std::size_t> index,
                             std::span<const FarWanted> wanted) {
  prepared_numbers_ = numbers;
  prepared_ = std::move(index);
  for (std::size_t c = 0; c < prepared_values_.size(); ++c) {
    if (tables_.far_fields[c] == nullptr) continue;
    const FarWanted of_this = wanted.empty() ? FarWanted{} : wanted[c];
    std::vector<double>& values = prepared_values_[c];
    std::vector<double>& combinations = prepared_combinations_[c];
    values.resize(of_this.columns ? prepared_.size() * at(tables_.components[c].columns) : 0);
    combinations.resize(of_this.combined != nullptr ? prepared_.size() : 0);
    evaluate_by_leaves(c, numbers, prepared_, of_this, values.empty() ? nullptr : values.data(),
                       combinations.empty() ? nullptr : combinations.data());
  }
}

void PointEvaluator::add_combination(int component, const FarField::Functions& combined, const Points& points,
                                     double* out) {
  const std::ptrdiff_t from = prepared_at(points);
  const std::vector<double>& prepared = prepared_combinations_[at(component)];
  if (from >= 0 && !prepared.empty()) {
    for (int r = 0; r < points.count; ++r) out[r] += prepared[at(from + r)];
    return;
  }
  std::vector<double> found(at(points.count));
  evaluate_by_leaves(at(component), points.numbers, std::span(points.index, found.size()),
                     {.columns = false, .combined = &combined}, nullptr, found.data());
  for (int r = 0; r < points.count; ++r) out[r] += found[at(r)];
}

TermEvaluator::TermEvaluator(std::span<const Component> components, int points)
    : tables_(std::make_shared<const ComponentTables>(tables_of(components))),
      strides_(strides_of(components)),
      offsets_(nonzero_offsets(components, strides_)),
      evaluator_(*tables_, points),
      starts_(at(points)),
      values_(at(points) * offsets_.size()) {}

void TermEvaluator::evaluate(const Points& points) {
  std::fill_n(starts_.begin(), points.count, 0);
  evaluator_.evaluate(0, static_cast<int>(tables_->components.size()), points, values_.data(),
                      [&](int component, const int* first) {
                        for (int p = 0; p < points.count; ++p)
                          starts_[at(p)] += strides_[at(component)] * first[p];
                      });
}

}  // namespace TESSERA_NAMESPACE::gam
