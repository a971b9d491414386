// SPDX-License-Identifier: Apache-2.0
#include "gam/report/effects.hpp"

#include "base/at.hpp"
#include "gam/basis/basis.hpp"
#include "gam/terms/point_values.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>

namespace tessera::gam {
namespace {

using base::at;

struct Nonzero {
  int column;
  double value;
};

/// Components that read their values by their index among these.
std::vector<Component> at_places(std::span<const Component> components) {
  std::vector<Component> own(components.begin(), components.end());
  for (std::size_t i = 0; i < own.size(); ++i) {
    own[i].parts.clear();
    int place = 0;
    for (const Component& before : components.first(i)) place += 1 + static_cast<int>(before.others.size());
    Component::for_each_variable(own[i], [&](int& variable) { variable = place++; });
  }
  return own;
}

/// One block of coefficients, evaluated at any values of its components.
class Term {
 public:
  Term(const FittedModel& model, const CoefBlock& block, std::span<const Component> components)
      : model_(model), block_(block), components_(components), evaluator_(at_places(components)) {}

  /// `values`: one a variable of the components, which is a level's place for a factor.
  [[nodiscard]] Estimate estimate(std::span<const double> values) {
    std::vector<std::int32_t> levels(values.size());
    std::vector<const double*> numbers;
    std::vector<const std::int32_t*> codes;
    std::size_t place = 0;
    for (const Component& component : components_) {
      if (component.kind == Component::Kind::factor) levels[place] = static_cast<std::int32_t>(values[place]);
      place += 1 + component.others.size();
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      numbers.push_back(&values[i]);
      codes.push_back(&levels[i]);
    }
    const std::size_t first = 0;
    std::vector<Nonzero> raw;
    evaluator_.for_each_nonzero({numbers.data(), codes.data(), &first, 1},
                                [&](int /*point*/, int column, double value) {
                                  raw.push_back({column, value});
                                });
    return estimate(raw);
  }

 private:
  /// The nonzeros of M'r for the block's coefficients; a row of a map may have only one.
  [[nodiscard]] std::vector<Nonzero> coefficients_of(std::span<const Nonzero> raw) const {
    std::vector<Nonzero> x;
    // A row has one level of a random effect or a factor smooth, and so one copy of the map.
    if (raw.empty()) return x;
    const auto [first, last] = block_.coefficients_at(raw.front().column);
    for (int j = first; j < last; ++j) {
      double value = 0;
      for (const Nonzero& one : raw) value += one.value * block_.map_at(one.column, j);
      if (value != 0) x.push_back({block_.coef_begin + j, value});
    }
    return x;
  }

  /// x'b and sqrt(x'Vx), x = M'r.
  [[nodiscard]] Estimate estimate(std::span<const Nonzero> raw) const {
    const std::vector<Nonzero> x = coefficients_of(raw);
    Estimate out;
    double variance = 0;
    for (const Nonzero& one : x) {
      out.fit += one.value * model_.coef[at(one.column)];
      double sum = 0;
      for (const Nonzero& other : x) sum += other.value * model_.covariance(other.column, one.column);
      variance += one.value * sum;
    }
    out.se = std::sqrt(std::max(0.0, variance));
    return out;
  }

  const FittedModel& model_;
  const CoefBlock& block_;
  std::span<const Component> components_;
  TermEvaluator evaluator_;
};

const RawTerm& term_of(const Design& design, const CoefBlock& block) {
  return *std::find_if(design.terms.begin(), design.terms.end(), [&](const RawTerm& term) {
    return block.raw_begin >= term.raw_begin && block.raw_begin < term.raw_begin + term.raw_size;
  });
}

const DesignVariable& variable_of(const Design& design, const Component& component) {
  return design.variables[at(component.variable)];
}

/// One variable of a margin.
struct Axis {
  const Component* component;
  int place;     ///< among the component's variables
  int variable;  ///< index into `Design::variables`
  [[nodiscard]] bool is_smooth() const { return component->is_curve() || component->isotropic.has_value(); }
};

std::vector<Axis> axes_of(std::span<const Component> margins) {
  std::vector<Axis> axes;
  for (const Component& margin : margins) {
    int place = 0;
    Component::for_each_variable(margin, [&](int variable) { axes.push_back({&margin, place++, variable}); });
  }
  return axes;
}

/// Equally spaced values over the data.
std::vector<double> grid(const FittedModel& model, const Axis& axis, int points) {
  double low = 0;
  double high = 1;
  if (const auto& isotropic = axis.component->isotropic) {
    const auto [least, most] = std::ranges::minmax(isotropic->points.column(axis.place));
    low = least + isotropic->shift[at(axis.place)];
    high = most + isotropic->shift[at(axis.place)];
  } else {
    low = axis.component->margin.breaks.front();
    high = axis.component->margin.breaks.back();
  }
  for (const VariableOutline& outline : model.outline.variables) {
    if (outline.name != model.design.variables[at(axis.variable)].name || !(outline.min < outline.max))
      continue;
    low = outline.min;
    high = outline.max;
  }
  return sequence(low, high, points);
}

/// mgcv's axis label: the edf is inserted before the first closing parenthesis.
std::string title_of(const CoefBlock& block, double edf) {
  std::string title = block.label;
  const std::size_t end = title.find(')');
  if (end != std::string::npos) title.insert(end, fmt::format(",{:.2f}", edf));
  return title;
}

/// The combinations of levels of a parametric term or a random effect. Components are in the order of raw
/// columns; names are in the order of the formula, which is the reverse for parametric terms.
Levels levels_of(const FittedModel& model, const CoefBlock& block, std::span<const Component> components,
                 bool random) {
  Term term(model, block, components);
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
  Term term(model, block, margins);
  const std::vector<Axis> axes = axes_of(margins);
  const std::size_t spline = at(std::ranges::find_if(axes, &Axis::is_smooth) - axes.begin());
  Curve curve;
  curve.variable = model.design.variables[at(axes[spline].variable)].name;
  curve.x = grid(model, axes[spline], points);
  // The other margins, if there are any, are random effects or those of a factor smooth: of factors, of which
  // there is a line for each combination, or of a number at 1.
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
  Term term(model, block, margins);
  const std::vector<Axis> axes = axes_of(margins);
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
  const RawTerm& term = term_of(model.design, block);
  const std::span<const Component> components(term.components);
  // A by variable stands before the margins, each variable of which has a list of knots.
  const std::span<const Component> margins =
      components.subspan(block.variables.size() > block.knots.size() ? 1 : 0);
  Effect effect{block.label, title_of(block, model.block_edf(block)), {}, NotDrawn{}};
  if (components.size() > margins.size() && components[0].kind == Component::Kind::numeric) {
    effect.by = variable_of(model.design, components[0]).name;
  }
  const std::vector<Axis> axes = axes_of(margins);
  const auto splines = std::ranges::count_if(axes, &Axis::is_smooth);
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
    if (block.penalty) {
      effects.push_back(smooth_effect(model, block, options));
      continue;
    }
    const auto& components = term_of(model.design, block).components;
    if (std::any_of(components.begin(), components.end(),
                    [](const Component& component) { return component.kind == Component::Kind::factor; })) {
      effects.push_back({block.label, block.label, {}, levels_of(model, block, components, false)});
    }
  }
  return effects;
}

}  // namespace tessera::gam
