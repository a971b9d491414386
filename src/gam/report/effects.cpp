// SPDX-License-Identifier: Apache-2.0
#include "gam/report/effects.hpp"

#include "base/at.hpp"
#include "gam/basis/basis.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// Estimates and standard errors of one block of coefficients at given values of its variables.
class BlockEstimates {
 public:
  BlockEstimates(const FittedModel& model, const CoefBlock& block, std::span<const Component> components)
      : model_(model), rows_(block, components) {}

  /// `values`: one per variable of the components; for a factor the index of the level.
  [[nodiscard]] Estimate estimate(std::span<const double> values) {
    return estimate_of(rows_.at(values), model_.coef, model_.covariance);
  }

 private:
  const FittedModel& model_;
  CoefBlockRows rows_;
};

const DesignVariable& variable_of(const Design& design, const Component& component) {
  return design.variables[at(component.variable)];
}

std::vector<double> grid(const FittedModel& model, const SmoothAxis& axis, int points) {
  const auto [low, high] = extent_of(model, axis);
  return sequence(low, high, points);
}

/// mgcv's axis label: inserts the edf before the first closing parenthesis.
std::string title_of(const CoefBlock& block, double edf) {
  std::string title = block.label;
  const std::size_t end = title.find(')');
  if (end != std::string::npos) title.insert(end, fmt::format(",{:.2f}", edf));
  return title;
}

/// Estimates at every combination of levels of a parametric term or random effect. Over the raw columns, the
/// last component varies fastest. Names list the components in reverse order.
Levels levels_of(const FittedModel& model, const CoefBlock& block, std::span<const Component> components,
                 bool random) {
  BlockEstimates term(model, block, components);
  Levels levels;
  levels.random = random;
  std::vector<double> values(components.size());
  for (int column = 0; column < block.raw_size; ++column) {
    std::string name;
    int rest = column;
    for (std::size_t c = components.size(); c-- > 0;) {
      const int level = rest % components[c].raw_size();
      rest /= components[c].raw_size();
      values[c] = components[c].kind == Component::Kind::factor ? level : 1.0;
      if (components[c].kind != Component::Kind::factor) continue;
      const std::string& text = variable_of(model.design, components[c]).levels[at(level)];
      name += name.empty() ? text : " : " + text;
    }
    levels.names.push_back(name.empty() ? "per unit" : name);
    levels.values.push_back(term.estimate(values));
  }
  return levels;
}

Curve curve_of(const FittedModel& model, const CoefBlock& block, std::span<const Component> margins,
               int points) {
  BlockEstimates term(model, block, margins);
  const std::vector<SmoothAxis> axes = axes_of(margins);
  const std::size_t spline = at(std::ranges::find_if(axes, &SmoothAxis::is_smooth) - axes.begin());
  Curve curve;
  curve.variable = model.design.variables[at(axes[spline].variable)].name;
  curve.x = grid(model, axes[spline], points);
  // One line for each combination of levels of the other margins, whose numeric variables are set to 1.
  int lines = 1;
  for (const Component& other : margins) lines *= other.kind == Component::Kind::factor ? other.levels : 1;
  std::vector<double> values(margins.size(), 1.0);
  for (int combination = 0; combination < lines; ++combination) {
    Curve::Line line;
    int rest = combination;
    for (std::size_t m = margins.size(); m-- > 0;) {
      if (margins[m].kind != Component::Kind::factor) continue;
      const int level = rest % margins[m].levels;
      rest /= margins[m].levels;
      values[m] = level;
      const std::string& name = variable_of(model.design, margins[m]).levels[at(level)];
      line.level = line.level.empty() ? name : name + " : " + line.level;
    }
    for (const double x : curve.x) {
      values[spline] = x;
      line.values.push_back(term.estimate(values));
    }
    curve.lines.push_back(std::move(line));
  }
  return curve;
}

Surface surface_of(const FittedModel& model, const CoefBlock& block, std::span<const Component> margins,
                   int points) {
  BlockEstimates term(model, block, margins);
  const std::vector<SmoothAxis> axes = axes_of(margins);
  Surface surface;
  surface.x_variable = model.design.variables[at(axes[0].variable)].name;
  surface.y_variable = model.design.variables[at(axes[1].variable)].name;
  surface.x = grid(model, axes[0], points);
  surface.y = grid(model, axes[1], points);
  surface.fit = Matrix(points, points);
  surface.se = Matrix(points, points);
  for (int j = 0; j < points; ++j) {
    for (int i = 0; i < points; ++i) {
      const std::array<double, 2> values{surface.x[at(i)], surface.y[at(j)]};
      const Estimate estimate = term.estimate(std::span<const double>(values));
      surface.fit(i, j) = estimate.fit;
      surface.se(i, j) = estimate.se;
    }
  }
  return surface;
}

Effect smooth_effect(const FittedModel& model, const CoefBlock& block, const EffectOptions& options) {
  const std::vector<Component>& components = model.design.term_of(block).components;
  const std::span<const Component> margins = margins_of(model.design, block);
  Effect effect{block.label, title_of(block, model.block_edf(block)), {}, NotDrawn{}};
  if (components.size() > margins.size() && components[0].kind == Component::Kind::numeric) {
    effect.by = variable_of(model.design, components[0]).name;
  }
  effect.edf = model.block_edf(block);
  if (!block.by_level.empty()) {
    effect.by_factor = block.variables.back();
    effect.by_level = block.by_level;
  }
  const std::vector<SmoothAxis> axes = axes_of(margins);
  const auto splines = std::ranges::count_if(axes, &SmoothAxis::is_smooth);
  if (splines == 0) {
    effect.shape = levels_of(model, block, margins, true);
  } else if (splines == 1 && (axes.size() <= 2 || block.kind == "sz")) {
    effect.shape = curve_of(model, block, margins, options.curve_points);
  } else if (splines == 2 && axes.size() == 2) {
    effect.shape = surface_of(model, block, margins, options.surface_points);
  }
  return effect;
}

}  // namespace

std::vector<Effect> effects_of(const FittedModel& model, const EffectOptions& options) {
  std::vector<Effect> effects;
  for (const CoefBlock& block : model.design.blocks) {
    if (block.is_smooth()) {
      effects.push_back(smooth_effect(model, block, options));
      continue;
    }
    const auto& components = model.design.term_of(block).components;
    if (std::any_of(components.begin(), components.end(),
                    [](const Component& component) { return component.kind == Component::Kind::factor; })) {
      effects.push_back({block.label, block.label, {}, levels_of(model, block, components, false)});
    }
  }
  return effects;
}

}  // namespace TESSERA_NAMESPACE::gam
