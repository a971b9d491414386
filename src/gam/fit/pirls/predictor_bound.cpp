// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/pirls/predictor_bound.hpp"

#include "base/at.hpp"
#include "gam/data/frame/number_scan.hpp"
#include "gam/linalg/linalg.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

constexpr double no_bound = std::numeric_limits<double>::infinity();

/// Bound of |(x - centre) factor| for x within the extent.
double numeric_bound(const Extent& x, double centre, double factor) {
  if (x.empty()) return no_bound;
  return std::max(std::abs((x.min - centre) * factor), std::abs((x.max - centre) * factor));
}

double numeric_bound(const Frame& frame, const Component& component) {
  if (component.parts.empty()) return numeric_bound(frame.extents[at(component.variable)], 0, 1);
  double sum = 0;
  for (const NumericPart& part : component.parts)
    sum += numeric_bound(frame.extents[at(part.variable)], part.centre, part.factor);
  return sum;
}

/// Bound of the sum of a margin's columns times `sizes`: within a cell, t and its powers are in [0, 1].
double margin_bound(const Margin& margin, const Extent& x, std::span<const double> sizes) {
  if (x.empty()) return no_bound;
  if (!margin.cyclic && !(x.min >= margin.breaks.front() && x.max <= margin.breaks.back())) return no_bound;
  double bound = 0;
  for (std::size_t cell = 0; cell < margin.cells.size(); ++cell) {
    double sum = 0;
    for (std::size_t a = 0; a < 4; ++a) {
      double value = 0;
      for (std::size_t power = 0; power < 4; ++power) value += std::abs(margin.cells[cell][4 * a + power]);
      sum += value * std::abs(sizes[cell * at(margin.stride) + a]);
    }
    bound = std::max(bound, sum);
  }
  return bound;
}

/// Bound of the sum of a component's columns times `sizes`. `of_any_sign`: the signs of `sizes` are unknown.
double component_bound(const Frame& frame, const Component& component, std::span<const double> sizes,
                       bool of_any_sign) {
  // An unknown (infinite) size times a zero column would be NaN, which comparisons miss.
  if (!std::ranges::all_of(sizes, [](double size) { return std::isfinite(size); })) return no_bound;
  if (largest(sizes) == 0) return 0;
  switch (component.kind) {
    case ComponentKind::numeric: return std::abs(sizes[0]) * numeric_bound(frame, component);
    case ComponentKind::factor: return largest(sizes);
    case ComponentKind::spline:
      return margin_bound(component.margin, frame.extents[at(component.variable)], sizes);
    case ComponentKind::dense: break;
  }
  if (component.isotropic) return no_bound;
  Matrix combinations = component.combinations;
  if (of_any_sign) {
    for (double& weight : combinations.values()) weight = std::abs(weight);
  }
  return margin_bound(component.margin, frame.extents[at(component.variable)], multiply(combinations, sizes));
}

/// Bound of the sum of a term's columns times `numbers`, in which the last component's index varies fastest.
double term_bound(const Frame& frame, const RawTerm& term, std::vector<double> numbers) {
  for (auto component = term.components.rbegin(); component != term.components.rend(); ++component) {
    // From the second component on, `numbers` are bounds, whose signs are unknown.
    const bool of_any_sign = component != term.components.rbegin();
    const auto columns = at(component->raw_size());
    std::vector<double> bounds;
    for (std::size_t begin = 0; begin < numbers.size(); begin += columns)
      bounds.push_back(
          component_bound(frame, *component, std::span(numbers).subspan(begin, columns), of_any_sign));
    numbers = std::move(bounds);
  }
  return std::abs(numbers.front());
}

}  // namespace

double predictor_bound(const Frame& frame, const Design& design, std::span<const double> raw_coef) {
  if (frame.rows.empty()) return 0;
  if (frame.extents.empty()) return no_bound;
  double sum = 0;
  for (const RawTerm& term : design.terms) {
    const std::span<const double> own = raw_coef.subspan(at(term.raw_begin), at(term.raw_size));
    sum += term.is_dense()
               ? term_bound(frame, design.terms[at(term.combined)], multiply_t(term.combinations, own))
               : term_bound(frame, term, {own.begin(), own.end()});
  }
  return sum;
}

}  // namespace TESSERA_NAMESPACE::gam
