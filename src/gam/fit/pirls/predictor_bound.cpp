// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/pirls/predictor_bound.hpp"

#include "base/at.hpp"
#include "gam/table/frame/extent.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

constexpr double unknown = std::numeric_limits<double>::infinity();

/// Of (x - centre) factor.
double numeric_bound(const Extent& x, double centre, double factor) {
  if (x.empty()) return unknown;
  return std::max(std::abs((x.min - centre) * factor), std::abs((x.max - centre) * factor));
}

/// Of a numeric component.
double numeric_bound(const Frame& frame, const Component& component) {
  if (component.parts.empty()) return numeric_bound(frame.extents[at(component.variable)], 0, 1);
  double sum = 0;
  for (const NumericPart& part : component.parts)
    sum += numeric_bound(frame.extents[at(part.variable)], part.centre, part.factor);
  return sum;
}

/// Of a margin's columns times `sizes`: in a cell, where t is from 0 to 1, powers of t are 1 at most.
double margin_bound(const Margin& margin, const Extent& x, std::span<const double> sizes) {
  if (x.empty()) return unknown;
  if (!margin.cyclic && !(x.min >= margin.breaks.front() && x.max <= margin.breaks.back())) return unknown;
  double largest = 0;
  for (std::size_t cell = 0; cell < margin.cells.size(); ++cell) {
    double sum = 0;
    for (std::size_t a = 0; a < 4; ++a) {
      double value = 0;
      for (std::size_t power = 0; power < 4; ++power) value += std::abs(margin.cells[cell][4 * a + power]);
      sum += value * std::abs(sizes[cell * at(margin.stride) + a]);
    }
    largest = std::max(largest, sum);
  }
  return largest;
}

/// Of a component's columns times `sizes`, or times any numbers of those sizes.
double component_bound(const Frame& frame, const Component& component, std::span<const double> sizes,
                       bool of_any_sign) {
  if (std::ranges::all_of(sizes, [](double size) { return size == 0; })) return 0;
  switch (component.kind) {
    case ComponentKind::numeric: return std::abs(sizes[0]) * numeric_bound(frame, component);
    case ComponentKind::factor:
      return std::abs(std::ranges::max(sizes, {}, [](double size) { return std::abs(size); }));
    case ComponentKind::spline:
      return margin_bound(component.margin, frame.extents[at(component.variable)], sizes);
    case ComponentKind::dense: break;
  }
  if (component.isotropic) return unknown;
  std::vector<double> of_margin(at(component.combinations.rows()));
  for (std::size_t j = 0; j < sizes.size(); ++j) {
    const auto weights = component.combinations.column(static_cast<int>(j));
    for (std::size_t i = 0; i < of_margin.size(); ++i)
      of_margin[i] += of_any_sign ? std::abs(weights[i] * sizes[j]) : weights[i] * sizes[j];
  }
  return margin_bound(component.margin, frame.extents[at(component.variable)], of_margin);
}

/// Of a term's columns, the last component's fastest, times `numbers`.
double term_bound(const Frame& frame, const RawTerm& term, std::vector<double> numbers) {
  for (auto component = term.components.rbegin(); component != term.components.rend(); ++component) {
    // Of what the components behind one give, sizes alone are known.
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
  if (frame.extents.empty()) return unknown;
  double sum = 0;
  for (const RawTerm& term : design.terms) {
    const std::span<const double> own = raw_coef.subspan(at(term.raw_begin), at(term.raw_size));
    if (!term.is_dense()) {
      sum += term_bound(frame, term, {own.begin(), own.end()});
      continue;
    }
    std::vector<double> numbers(at(term.combinations.cols()));
    for (std::size_t column = 0; column < numbers.size(); ++column) {
      const auto weights = term.combinations.column(static_cast<int>(column));
      for (std::size_t c = 0; c < own.size(); ++c) numbers[column] += weights[c] * own[c];
    }
    sum += term_bound(frame, design.terms[at(term.combined)], std::move(numbers));
  }
  return sum;
}

}  // namespace TESSERA_NAMESPACE::gam
