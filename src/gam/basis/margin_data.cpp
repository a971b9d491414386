// SPDX-License-Identifier: Apache-2.0
#include "gam/basis/margin_data.hpp"

#include "base/errors.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace TESSERA_NAMESPACE::gam {

std::pair<double, double> MarginData::limits() const {
  if (!has_limits()) return {min, max};
  require_covered(supplied.front(), supplied.back());
  return {supplied.front(), supplied.back()};
}

void MarginData::require_distinct(std::int64_t needed, std::int64_t available) const {
  if (needed <= available) return;
  const std::int64_t most = k - (needed - available);
  constexpr std::int64_t least = 3;
  throw base::input_error("{}: k = {} is too large: '{}' has {} distinct value{}: {}", label, k, variable,
                          distinct, distinct == 1 ? "" : "s",
                          most >= least ? fmt::format("write k={}", most) : "make it a parametric term");
}

void MarginData::require_knots(int all, bool or_limits) const {
  if (static_cast<int>(supplied.size()) != all)
    throw base::usage_error(
        "{}: {} knots are supplied for '{}', but k = {} needs {}{} knots: supply this number of knots", label,
        supplied.size(), variable, k, or_limits ? "2 limits or " : "", all);
  // Cells are intervals between knots, and must not be empty.
  if (std::adjacent_find(supplied.begin(), supplied.end(), std::greater_equal<>()) != supplied.end())
    throw base::usage_error("{}: two knots of '{}' are equal: supply distinct knots", label, variable);
}

void MarginData::require_covered(double low, double high) const {
  if (low <= min && max <= high) return;
  throw base::input_error(
      "{}: '{}' runs from {:g} to {:g}, outside the knots' range {:g} to {:g}: widen the knots", label,
      variable, min, max, low, high);
}

}  // namespace TESSERA_NAMESPACE::gam
