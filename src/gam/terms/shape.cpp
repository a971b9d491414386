// SPDX-License-Identifier: Apache-2.0
#include "gam/terms/shape.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "gam/basis/bases.hpp"

#include <algorithm>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

Component plain_component(const Frame& frame, const std::string& name) {
  Component component;
  component.variable = frame.index_of(name);
  const Variable& variable = frame.variables[at(component.variable)];
  if (!variable.factor) return component;
  component.kind = Component::Kind::factor;
  component.levels = static_cast<int>(variable.levels.size());
  return component;
}

/// A component with only its kind and size: a spline, dense columns of a single cell, or isotropic columns.
Component curve_component(const BasisSize& size, const MarginSpec& margin, const Frame& frame) {
  Component component;
  component.kind = size.dense > 0 ? Component::Kind::dense : Component::Kind::spline;
  component.variable = frame.index_of(margin.variable.text);
  for (const Expression& other : margin.others) component.others.push_back(frame.index_of(other.text));
  if (size.radial) {
    component.combinations = Matrix(0, size.dense);
    component.isotropic.emplace();
    component.isotropic->points = Matrix(0, margin.variables);
    component.isotropic->shift.resize(at(margin.variables));
    return component;
  }
  const int cells = size.dense > 0 ? 1 : size.cells;
  if (size.dense > 0) component.combinations = Matrix(4, size.dense);
  component.margin.uniform = true;
  component.margin.stride = size.stride;
  component.margin.cells.resize(at(cells));
  for (int i = 0; i <= cells; ++i) component.margin.breaks.push_back(i);
  return component;
}

bool is_random(const MarginSpec& margin) {
  return is_random_effect(margin.basis);
}

int free_of(const MarginSpec& margin) {
  return basis_of(margin.basis).size(margin).free;
}

/// Whether t2() includes the product of the margins' null spaces.
bool has_free_product(const SmoothSpec& smooth) {
  return std::ranges::none_of(smooth.margins,
                              [](const MarginSpec& margin) { return free_of(margin) == 0; }) &&
         (smooth.orders.empty() || std::ranges::find(smooth.orders, 0) != smooth.orders.end());
}

/// Number of penalties of t2(), over all orders.
std::int64_t penalties_by_spaces(const SmoothSpec& smooth) {
  std::int64_t all = 1;
  std::int64_t free = 1;
  for (const MarginSpec& margin : smooth.margins) {
    const int own = smooth.full ? free_of(margin) : std::min(1, free_of(margin));
    all *= 1 + own;
    free *= own;
  }
  return all - free;
}

}  // namespace

TermShape shape_of(const ParametricTerm& term, const Frame& frame) {
  TermShape shape;
  for (const Expression& variable : term.variables) {
    Component component = plain_component(frame, variable.text);
    shape.raw *= component.raw_size();
    check_coefficients(shape.raw, term.label);
    // In reverse order, because in R the first variable varies fastest.
    shape.components.insert(shape.components.begin(), std::move(component));
  }
  shape.coefficients = shape.raw;
  return shape;
}

TermShape shape_of(const SmoothSpec& smooth, const Frame& frame) {
  TermShape shape;
  shape.penalties = smooth.by_spaces ? penalties_by_spaces(smooth)
                    : smooth.tensor  ? std::ranges::count(smooth.margins, false, &MarginSpec::fixed)
                                     : basis_of(smooth.margins[0].basis).size(smooth.margins[0]).penalties;
  // Each function of the null space of a factor smooth has its own penalty.
  shape.diagonal = smooth.factor_smooth && !smooth.sum_to_zero;
  if (shape.diagonal) shape.penalties += free_of(smooth.margins[0]);
  bool has_contrasts = smooth.sum_to_zero;
  if (has_contrasts && smooth.by) has_contrasts = frame.at(smooth.by->text).factor;
  if (smooth.sum_to_zero && smooth.id.empty()) {
    for (const MarginSpec& margin : smooth.margins)
      shape.penalties *= is_random(margin) ? std::ssize(frame.at(margin.variable.text).levels) : 1;
  }
  if (smooth.fixed) shape.penalties = 0;
  if (smooth.select && shape.penalties > 0 && !shape.diagonal) ++shape.penalties;
  shape.random = std::ranges::all_of(smooth.margins, is_random);
  shape.ridge = shape.random && !smooth.tensor;
  shape.constrained = !smooth.interaction && std::ranges::none_of(smooth.margins, is_random) &&
                      (!smooth.by_spaces || has_free_product(smooth));
  for (const MarginSpec& margin : smooth.margins) {
    const BasisKind& basis = basis_of(margin.basis);
    Component component;
    if (basis.random_effect || basis.of_districts) {
      component = plain_component(frame, margin.variable.text);
      shape.coefficients *=
          basis.of_districts && margin.k > 0 ? margin.k : component.raw_size() - (has_contrasts ? 1 : 0);
    } else {
      const BasisSize size = basis.size(margin);
      if (size.centred) shape.constrained = false;
      component = curve_component(size, margin, frame);
      shape.coefficients *= size.coefficients - (margin.centred ? 1 : 0);
    }
    check_coefficients(shape.coefficients, smooth.label,
                       shape.ridge || shape.diagonal ? largest_parted_effect : largest_dense_term);
    shape.raw *= component.raw_size();
    shape.components.push_back(std::move(component));
  }
  // A random effect of several variables: the first one varies fastest, as in R's a:b.
  if (!smooth.tensor) std::ranges::reverse(shape.components);
  if (smooth.by) {
    Component by = plain_component(frame, smooth.by->text);
    shape.by_number = by.kind == Component::Kind::numeric;
    shape.blocks = by.raw_size();
    shape.components.insert(shape.components.begin(), std::move(by));
  }
  return shape;
}

double nonzeros_of_row(const FormulaTerms& formula) {
  double sum = (formula.intercept ? 1 : 0) + static_cast<double>(formula.parametric.size());
  for (const SmoothSpec& smooth : formula.smooths) {
    double own = 1;
    for (const MarginSpec& margin : smooth.margins) {
      const BasisKind& basis = basis_of(margin.basis);
      const int dense = basis.size(margin).dense;
      own *= basis.random_effect || basis.of_districts ? 1 : dense > 0 ? dense : 4;
    }
    sum += own;
  }
  for (const FormulaTerms& one : formula.further) sum += nonzeros_of_row(one);
  return sum;
}

std::vector<bool> parted_effects(std::span<const EffectSize> effects, std::int64_t largest_whole,
                                 std::int64_t rows) {
  constexpr std::int64_t cheap = 10'000'000;
  std::vector<bool> parted;
  std::int64_t columns = 0;
  for (const EffectSize& effect : effects) {
    parted.push_back(effect.coefficients > largest_whole);
    if (parted.back()) columns += effect.columns;
  }
  for (std::size_t i = 0; i < effects.size(); ++i)
    parted[i] = parted[i] || columns * effects[i].columns > std::max(cheap, 2 * rows);
  return parted;
}

void check_coefficients(std::int64_t count, const std::string& label, std::int64_t most) {
  if (count > most) {
    throw base::input_error(
        "{} has {} coefficients, more than the {} that can be fitted: take a smaller k, or fewer levels",
        label, count, most);
  }
}

}  // namespace TESSERA_NAMESPACE::gam
