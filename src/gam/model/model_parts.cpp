// SPDX-License-Identifier: Apache-2.0
// Terms, penalties and variables of the public `Model`.
#include "base/at.hpp"
#include "base/math/elementary.hpp"
#include "gam/basis/isotropic.hpp"
#include "gam/formula/polynomial_contrasts.hpp"
#include "gam/model/model.hpp"
#include "gam/model/smooth_axes.hpp"

#include <tessera/gam/model.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

Matrix padded(const Matrix& map, int columns) {
  Matrix out(map.rows(), columns);
  std::ranges::copy(map.values(), out.values().begin());
  return out;
}

CubicColumns cubic_columns(const Margin& margin, std::string variable) {
  CubicColumns out{.variable = std::move(variable),
                   .breaks = margin.breaks,
                   .cyclic = margin.cyclic,
                   .stride = margin.stride,
                   .cubics = Matrix(16, margin.cell_count())};
  for (int cell = 0; cell < margin.cell_count(); ++cell)
    std::ranges::copy(margin.cells[at(cell)], out.cubics.column(cell).begin());
  return out;
}

RadialFunctions radial_functions(const Component& component, std::vector<std::string> variables) {
  RadialFunctions out{.variables = std::move(variables)};
  if (component.radial) {
    const RadialColumns& radial = *component.radial;
    out.function = radial_names[at(static_cast<int>(RadialKind::power))];
    out.scale = 1.0 / 12;
    out.points = Matrix(static_cast<int>(radial.points.size()), 1);
    for (std::size_t i = 0; i < radial.points.size(); ++i)
      out.points.values()[i] = (radial.points[i] - radial.shift) / radial.unit;
    out.shift = {radial.shift};
    out.unit = radial.unit;
    out.powers = {{0}, {1}};
    out.map = padded(radial.map, component.raw_size());
    return out;
  }
  const IsotropicColumns& columns = *component.isotropic;
  out.function = radial_names[at(static_cast<int>(columns.function.kind))];
  out.power = columns.function.power;
  out.scale = columns.function.scale;
  out.exponent = columns.function.exponent;
  out.points = columns.points;
  out.shift = columns.shift;
  out.powers = columns.powers;
  out.map = component.combinations;
  return out;
}

TermFactor factor_of(const Component& component, const Design& design) {
  std::vector<std::string> variables;
  Component::for_each_variable(
      component, [&](int variable) { variables.push_back(design.variables[at(variable)].name); });
  switch (component.kind) {
    case Component::Kind::factor:
      return LevelColumns{variables.front(), design.variables[at(component.variable)].levels};
    case Component::Kind::spline: return cubic_columns(component.margin, variables.front());
    case Component::Kind::dense: return radial_functions(component, std::move(variables));
    default: return NumberColumn{variables.front()};
  }
}

Term term_of(const FittedModel& model, const CoefBlock& block) {
  Term term{.label = block.label,
            .basis = block.kind,
            .variables = block.variables,
            .by_level = block.by_level,
            .first_coefficient = block.coef_begin,
            .coefficients = block.coef_size,
            .map = block.map,
            .copies = block.copies,
            .constraint = block.constraint,
            .margin_constraints = block.margin_constraints,
            .margin_natural = block.margin_natural,
            .dropped = block.dropped,
            .undetermined = block.determined,
            .edf = model.block_edf(block)};
  std::span<const Component> components = model.design.term_of(block).components;
  if (block.penalty) {
    term.penalties = static_cast<int>(block.penalty->count());
    term.null_space = block.coef_size - block.penalty->rank();
  }
  if (block.is_smooth()) {
    const std::span<const Component> margins = margins_of(model.design, block);
    if (margins.size() < components.size()) {
      term.by = block.variables.back();
      term.variables.pop_back();
    }
    components = margins;
    term.knots = block.knots;
  }
  for (const Component& component : components) term.factors.push_back(factor_of(component, model.design));
  return term;
}

/// For each variable of the design, whether a term (`parametric_alone`: a parametric term) uses it.
std::vector<bool> variables_used(const Design& design, bool parametric_alone) {
  std::vector<bool> used(design.variables.size());
  for (const CoefBlock& block : design.blocks) {
    if (parametric_alone && block.is_smooth()) continue;
    for (const Component& component : design.term_of(block).components)
      Component::for_each_variable(component, [&](int variable) { used[at(variable)] = true; });
  }
  return used;
}

/// Whether the model codes the ordered factor `factor` by orthogonal polynomials (contr.poly).
bool has_polynomials_of(const Recipe& recipe, const std::string& factor) {
  return std::ranges::any_of(
      recipe.contrasts, [&](const Expression& one) { return one.text == factor + polynomial_suffix(1); });
}

}  // namespace

std::vector<Term> Model::terms() const {
  std::vector<Term> terms;
  for (const CoefBlock& block : fitted_->design.blocks) terms.push_back(term_of(*fitted_, block));
  return terms;
}

std::vector<TermPenalty> Model::penalties() const {
  const Design& design = fitted_->design;
  const std::vector<PenaltyParameter> parameters = design.parameters();
  std::vector<TermPenalty> penalties;
  for (std::size_t b = 0; b < design.blocks.size(); ++b) {
    const CoefBlock& block = design.blocks[b];
    for (std::size_t j = 0; block.penalty && j < block.penalty->count(); ++j) {
      const std::size_t index = penalties.size();
      TermPenalty one{.label = block.penalty->labels[j],
                      .term = static_cast<int>(b),
                      .scale = block.s_scale[j],
                      .rank = block.penalty->rank_of(j),
                      .lambda = base::exp(fitted_->log_sp[index]),
                      .parameter = parameters[index].index,
                      .least = parameters[index].least};
      if (block.penalty->is_diagonal()) {
        for (int i = 0; i < block.coef_size; ++i) one.diagonal.push_back(block.penalty->diagonal_of(j, i));
      } else {
        one.matrix = block.penalty->matrices[j];
      }
      penalties.push_back(std::move(one));
    }
  }
  return penalties;
}

std::vector<SmoothingParameter> Model::smoothing_parameters() const {
  std::vector<SmoothingParameter> parameters;
  std::size_t index = 0;
  const std::vector<PenaltyParameter> of_penalties = fitted_->design.parameters();
  for (const CoefBlock& block : fitted_->design.blocks) {
    for (std::size_t j = 0; block.penalty && j < block.penalty->count(); ++j, ++index) {
      const PenaltyParameter& parameter = of_penalties[index];
      if (parameter.index == static_cast<int>(parameters.size()))
        parameters.push_back({block.penalty->labels[j], base::exp(parameter.log_sp(fitted_->log_sp[index]))});
    }
  }
  return parameters;
}

TermTests Model::tests() const {
  return {fitted_->coefficient_tests, fitted_->smooth_tests};
}

std::vector<ModelVariable> Model::variables() const {
  const Design& design = fitted_->design;
  std::vector<ModelVariable> variables;
  const std::vector<bool> used = variables_used(design, false);
  const std::vector<bool> parametric = variables_used(design, true);
  for (std::size_t v = 0; v < design.variables.size(); ++v) {
    if (!used[v]) continue;  // after a fit, the design also has the response
    const DesignVariable& variable = design.variables[v];
    variables.push_back({.name = variable.name,
                         .factor = variable.factor,
                         .ordered = variable.ordered,
                         .levels = variable.levels});
    if (variable.factor && parametric[v]) variables.back().contrasts = "contr.treatment";
  }
  const auto named = [&](const std::string& name) -> ModelVariable& {
    const auto known = std::ranges::find(variables, name, &ModelVariable::name);
    return known != variables.end() ? *known : variables.emplace_back(ModelVariable{.name = name});
  };
  for (const Recipe::Column& column : fitted_->recipe.columns) {
    ModelVariable& variable = named(column.name);
    variable.factor = column.type.kind == ValueType::Kind::factor;
    variable.ordered = column.type.ordered;
    variable.levels = column.type.levels;
  }
  for (const VariableSummary& summary : fitted_->outline.summaries) {
    ModelVariable& variable = named(summary.name);
    variable.factor = summary.factor;
    variable.mean = summary.mean;
    if (summary.factor)
      variable.most_frequent = summary.level;
    else
      variable.summary = {summary.least, summary.median, summary.greatest};
  }
  for (ModelVariable& variable : variables) {
    if (has_polynomials_of(fitted_->recipe, variable.name)) variable.contrasts = "contr.poly";
  }
  return variables;
}

std::vector<MeasuredExpression> Model::measured() const {
  std::vector<MeasuredExpression> measured;
  for (const auto& [text, values] : fitted_->recipe.measured) measured.push_back({text, values});
  return measured;
}

}  // namespace TESSERA_NAMESPACE::gam
