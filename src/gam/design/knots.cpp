// SPDX-License-Identifier: Apache-2.0
#include "gam/design/knots.hpp"

#include "base/errors.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "gam/basis/bases.hpp"
#include "gam/data/frame/distinct.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/terms/shape.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <span>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// A penalty on second derivatives scales like the variable to the power -3, and may overflow.
void check_penalty(const MarginData& data, const Basis& basis) {
  constexpr double large = 1e270;
  const double size = largest(basis.penalty.values());
  if (size < large && size > 1 / large) return;
  throw base::input_error(
      "{}: the penalty of '{}' overflows, because the variable ranges from {:g} to {:g}: rescale the "
      "variable",
      data.label, data.variable, data.min, data.max);
}

/// The supplied points of an isotropic basis; each variable must have the same number of values.
Matrix supplied_points(const MarginSpec& spec, const SuppliedKnots& supplied, const std::string& label) {
  std::vector<double> all;
  int variables = 0;
  std::size_t points = 0;
  spec.for_each_variable([&](const Expression& one) {
    const auto found = supplied.find(one.text);
    if (found == supplied.end()) return;
    ++variables;
    points = found->second.size();
    all.insert(all.end(), found->second.begin(), found->second.end());
  });
  if (variables == 0) return {};
  if (variables != spec.variables || all.size() != points * static_cast<std::size_t>(variables))
    throw base::usage_error("{}: its knots are points: supply the same number of values for each variable",
                            label);
  Matrix out(static_cast<int>(points), variables);
  std::ranges::copy(all, out.data());
  std::set<std::vector<double>> distinct;
  for (int i = 0; i < out.rows(); ++i) {
    std::vector<double> point;
    for (int v = 0; v < variables; ++v) point.push_back(out(i, v));
    if (!distinct.insert(std::move(point)).second)
      throw base::usage_error("{}: two of the points supplied as knots are equal: supply distinct points",
                              label);
  }
  if (out.rows() < spec.k)
    throw base::usage_error(
        "{}: {} points are supplied as knots, but k = {} needs at least {} points: supply more points, or "
        "take a smaller k",
        label, out.rows(), spec.k, spec.k);
  return out;
}

}  // namespace

std::pair<std::string, std::vector<double>> parse_knots(std::string_view text) {
  const auto refuse_text = [&](std::string_view why, std::string_view cure = "write VAR=a,b,…") {
    throw base::usage_error("knots '{}': {}: {}", text, why, cure);
  };
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) refuse_text("the text has no '='");
  std::pair<std::string, std::vector<double>> knots{std::string(base::trimmed(text.substr(0, equals))), {}};
  if (knots.first.empty()) refuse_text("the name of the variable before '=' is missing");
  for (const std::string_view part : base::split(text.substr(equals + 1), ',')) {
    const std::string_view number = base::trimmed(part);
    const auto value = base::parse_number<double>(number);
    if (!value || !std::isfinite(*value)) refuse_text(fmt::format("'{}' is not a number", number));
    knots.second.push_back(*value);
  }
  if (knots.second.size() < 2) refuse_text("the text has only one value", "give two or more values");
  if (std::ranges::all_of(knots.second, [&](double one) { return one == knots.second.front(); }))
    refuse_text("all values are equal", "give at least two distinct values");
  return knots;
}

Basis make_basis(const Workers& workers, const Frame& frame, const MarginSpec& spec,
                 const SuppliedKnots& supplied,
                 const std::function<std::vector<double>(int variable)>& setup_values,
                 const std::string& label) {
  const int index = frame.index_of(spec.variable.text);
  const Variable& variable = frame.variables[static_cast<std::size_t>(index)];
  const BasisKind& kind = basis_of(spec.basis);
  MarginData data;
  static_cast<BasisOptions&>(data) = spec;
  data.label = label;
  data.team = &workers.team;
  data.variable = variable.name;
  if (kind.random_effect) {
    check_coefficients(static_cast<std::int64_t>(variable.levels.size()), label, largest_parted_effect);
    data.factor = variable.factor;
    data.levels = static_cast<int>(variable.levels.size());
    Basis basis = kind.make(data);
    basis.component.variable = index;
    return basis;
  }
  if (kind.of_districts) {
    data.levels = static_cast<int>(variable.levels.size());
    data.level_names = variable.levels;
    data.level_counts = [&] {
      std::vector<std::int64_t> counts(variable.levels.size());
      for (const double level : setup_values(index)) ++counts[static_cast<std::size_t>(level)];
      return counts;
    };
    Basis basis = kind.make(data);
    basis.component.variable = index;
    return basis;
  }
  std::vector<int> indices;
  spec.for_each_variable([&](const Expression& one) { indices.push_back(frame.index_of(one.text)); });
  for (const int one : indices) {
    const Variable& number = frame.variables[static_cast<std::size_t>(one)];
    if (number.factor)
      throw base::input_error(R"({}: '{}' is text and bs="{}" needs numbers: use bs="re" or by=)", label,
                              number.name, spec.basis);
  }
  check_coefficients(spec.k, label);
  // Two distinct values suffice to show that a variable is not constant; a basis needs k of them.
  const Distinct distinct = distinct_values(workers, frame, index, std::max(spec.k, 2));
  data.distinct = distinct.count;
  data.min = distinct.min;
  data.max = distinct.max;
  if (distinct.count == 1) {
    throw base::input_error("{}: '{}' is constant ({:g}): leave it out of the formula", label, variable.name,
                            distinct.min);
  }
  if (kind.several) {
    data.supplied_points = supplied_points(spec, supplied, label);
  } else if (const auto found = supplied.find(spec.variable.text); found != supplied.end()) {
    data.supplied = found->second;
    std::ranges::sort(data.supplied);
  }
  data.quantiles = [&](std::span<const double> limits) {
    return distinct_quantiles(workers, frame, index, spec.k, limits);
  };
  data.setup_values = [&] {
    std::vector<double> all;
    for (const int one : indices) {
      const std::vector<double> values = setup_values(one);
      all.insert(all.end(), values.begin(), values.end());
    }
    Matrix out(static_cast<int>(all.size() / indices.size()), static_cast<int>(indices.size()));
    std::ranges::copy(all, out.data());
    return out;
  };
  Basis basis = kind.make(data);
  check_penalty(data, basis);
  basis.component.variable = index;
  basis.component.others.assign(indices.begin() + 1, indices.end());
  basis.component.extent = {distinct.min, distinct.max};
  return basis;
}

}  // namespace TESSERA_NAMESPACE::gam
