// SPDX-License-Identifier: Apache-2.0
#include "gam/model/smooth_axes.hpp"

#include "base/at.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace TESSERA_NAMESPACE::gam {

using base::at;

Estimate estimate_of(const Combination& x, std::span<const double> coef, const PartedMatrix& covariance) {
  Estimate out;
  double variance = 0;
  for (const Weight& one : x) {
    out.fit += one.value * coef[at(one.coefficient)];
    double sum = 0;
    for (const Weight& other : x) {
      sum += covariance.has(other.coefficient, one.coefficient)
                 ? other.value * covariance(other.coefficient, one.coefficient)
                 : std::numeric_limits<double>::quiet_NaN();
    }
    variance += one.value * sum;
  }
  // Rounding may make a variance of 0 negative.
  out.se = std::sqrt(variance < 0 ? 0 : variance);
  return out;
}

std::span<const Component> margins_of(const Design& design, const CoefBlock& block) {
  // The component of a by variable comes before the margins, and has no list of knots.
  return std::span<const Component>(design.term_of(block).components)
      .subspan(block.variables.size() > block.knots.size() ? 1 : 0);
}

std::vector<SmoothAxis> axes_of(std::span<const Component> margins) {
  std::vector<SmoothAxis> axes;
  for (const Component& margin : margins) {
    int place = 0;
    Component::for_each_variable(margin, [&](int variable) { axes.push_back({&margin, place++, variable}); });
  }
  return axes;
}

std::array<double, 2> extent_of(const FittedModel& model, const SmoothAxis& axis) {
  const std::string& name = model.design.variables[at(axis.variable)].name;
  for (const VariableSummary& summary : model.outline.summaries) {
    if (summary.name == name && summary.least < summary.greatest) return {summary.least, summary.greatest};
  }
  for (const VariableOutline& outline : model.outline.variables) {
    if (outline.name == name && outline.min < outline.max) return {outline.min, outline.max};
  }
  if (const auto& isotropic = axis.component->isotropic) {
    const auto [least, most] = std::ranges::minmax(isotropic->points.column(axis.place));
    return {least + isotropic->shift[at(axis.place)], most + isotropic->shift[at(axis.place)]};
  }
  return {axis.component->margin.breaks.front(), axis.component->margin.breaks.back()};
}

}  // namespace TESSERA_NAMESPACE::gam
