// SPDX-License-Identifier: Apache-2.0
#include "gam/design/knots.hpp"

#include "base/text.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/table/distinct.hpp"

#include <tessera/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>

namespace tessera::gam {
namespace {

[[noreturn]] void refuse(ErrorCode code, const std::string& message) {
  throw Error(code, message);
}

/// What a margin is made from, and how to speak of it.
struct Context {
  const tessera::mpi::Communicator& comm;
  const Frame& frame;
  const MarginSpec& spec;
  int variable;
  std::string label;
  Distinct distinct;
  std::vector<double> supplied;  ///< ascending; empty: none

  [[nodiscard]] const std::string& name() const { return spec.variable.text; }
  [[nodiscard]] bool has_limits() const { return supplied.size() == 2; }
};

void check_distinct(const Context& context, std::int64_t needed, std::int64_t available) {
  if (needed <= available) return;
  const std::int64_t most = context.spec.k - (needed - available);
  constexpr std::int64_t least = 3;
  refuse(
      ErrorCode::input,
      fmt::format("{}: k = {} is too large: '{}' has {} distinct value{}: {}", context.label, context.spec.k,
                  context.name(), context.distinct.count, context.distinct.count == 1 ? "" : "s",
                  most >= least ? fmt::format("write k={}", most) : "make it a parametric term"));
}

[[noreturn]] void wrong_count(const Context& context, int all, bool limits) {
  refuse(ErrorCode::usage, fmt::format("{}: {} knots supplied for '{}', where k = {} takes {}{}",
                                       context.label, context.supplied.size(), context.name(), context.spec.k,
                                       limits ? "2 limits or " : "", all));
}

/// Cells are the intervals between `knots`: none may be empty.
void check_increasing(const Context& context, std::span<const double> knots) {
  if (std::adjacent_find(knots.begin(), knots.end(), std::greater_equal<>()) == knots.end()) return;
  refuse(ErrorCode::usage, fmt::format("{}: two knots of '{}' are equal: supply distinct knots",
                                       context.label, context.name()));
}

void check_covered(const Context& context, double low, double high) {
  if (low <= context.distinct.min && context.distinct.max <= high) return;
  refuse(ErrorCode::input,
         fmt::format("{}: '{}' runs from {:g} to {:g}, outside the knots' range {:g} to {:g}: widen --knots",
                     context.label, context.name(), context.distinct.min, context.distinct.max, low, high));
}

/// P-splines, cyclic or not: limits, all the knots, or neither.
Basis make_bspline(const Context& context, bool cyclic) {
  const int k = context.spec.k;
  const int order = context.spec.order[1];
  check_distinct(context, k, context.distinct.count);
  const auto& supplied = context.supplied;
  if (!supplied.empty() && !context.has_limits()) {
    const int all = cyclic ? k + 1 : k + 4;
    if (static_cast<int>(supplied.size()) != all) wrong_count(context, all, true);
    check_increasing(context, supplied);
    // Three knots beyond each end shape the first and last B-splines; no data may lie there.
    const std::size_t outer = cyclic ? 0 : 3;
    check_covered(context, supplied[outer], supplied[supplied.size() - 1 - outer]);
    return cyclic ? cp_basis(supplied, order, false) : ps_basis(supplied, order, false);
  }
  const double low = context.has_limits() ? supplied.front() : context.distinct.min;
  const double high = context.has_limits() ? supplied.back() : context.distinct.max;
  check_covered(context, low, high);
  return cyclic ? cp_basis(sequence(low, high, k + 1), order, true)
                : ps_basis(ps_knots(k, low, high), order, true);
}

/// A penalty of squared second derivatives has the unit of the variable to the power of -3.
void check_penalty(const Context& context, const Basis& basis) {
  constexpr double large = 1e270;
  const double size = largest(basis.penalty.values());
  if (size < large && size > 1 / large) return;
  refuse(ErrorCode::input,
         fmt::format("{}: the penalty of '{}', which runs from {:g} to {:g}, is beyond the range "
                     "of numbers: give the variable another unit",
                     context.label, context.name(), context.distinct.min, context.distinct.max));
}

Basis make_cr(const Context& context) {
  const int k = context.spec.k;
  check_distinct(context, k, context.distinct.count);
  if (context.supplied.empty()) {
    return cr_basis(distinct_quantiles(context.comm, context.frame, context.variable, k, {}));
  }
  if (static_cast<int>(context.supplied.size()) != k) wrong_count(context, k, false);
  check_increasing(context, context.supplied);
  return cr_basis(context.supplied);
}

Basis make_cc(const Context& context) {
  const int k = context.spec.k;
  check_distinct(context, k - 1, context.distinct.count);
  const auto& supplied = context.supplied;
  if (static_cast<int>(supplied.size()) == k) {
    check_increasing(context, supplied);
    return cc_basis(supplied);
  }
  if (!supplied.empty() && !context.has_limits()) wrong_count(context, k, true);
  // Limits beyond the data are distinct values too.
  std::int64_t available = context.distinct.count;
  if (context.has_limits()) {
    available += supplied.front() < context.distinct.min ? 1 : 0;
    available += supplied.back() > context.distinct.max ? 1 : 0;
  }
  check_distinct(context, k, available);
  return cc_basis(distinct_quantiles(context.comm, context.frame, context.variable, k, supplied));
}

}  // namespace

std::pair<std::string, std::vector<double>> parse_knots(std::string_view text) {
  const auto refuse_text = [&](std::string_view why) {
    refuse(ErrorCode::usage, fmt::format("--knots '{}': {}: write VAR=a,b,…", text, why));
  };
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) refuse_text("no '='");
  std::pair<std::string, std::vector<double>> knots{std::string(base::trimmed(text.substr(0, equals))), {}};
  if (knots.first.empty()) refuse_text("no variable before '='");
  for (const std::string_view part : base::split(text.substr(equals + 1), ',')) {
    const std::string_view number = base::trimmed(part);
    double value = 0;
    const auto [end, fault] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (fault != std::errc() || end != number.data() + number.size() || !std::isfinite(value)) {
      refuse_text(fmt::format("'{}' is not a number", number));
    }
    knots.second.push_back(value);
  }
  if (knots.second.size() < 2) refuse_text("one value");
  std::sort(knots.second.begin(), knots.second.end());
  if (knots.second.front() == knots.second.back()) refuse_text("all values are equal");
  return knots;
}

Basis make_basis(const tessera::mpi::Communicator& comm, const Frame& frame, const MarginSpec& spec,
                 const SuppliedKnots& supplied, const std::string& label) {
  const int place = frame.index_of(spec.variable.text);
  const Variable& variable = frame.variables[static_cast<std::size_t>(place)];
  if (spec.basis == "re") {
    check_coefficients(static_cast<std::int64_t>(variable.levels.size()), label);
    Basis basis = re_basis(variable.factor, static_cast<int>(variable.levels.size()));
    basis.component.variable = place;
    return basis;
  }
  if (variable.factor) {
    refuse(ErrorCode::input, fmt::format(R"({}: '{}' is text and bs="{}" needs numbers: use bs="re" or by=)",
                                         label, variable.name, spec.basis));
  }
  check_coefficients(spec.k, label);
  // Two tell a variable from a constant, k are as many as a basis needs.
  const Distinct distinct = distinct_values(comm, frame, place, std::max(spec.k, 2));
  Context context{comm, frame, spec, place, label, distinct, {}};
  if (context.distinct.count == 1) {
    refuse(ErrorCode::input, fmt::format("{}: '{}' is constant ({:g}): leave it out of the formula", label,
                                         variable.name, context.distinct.min));
  }
  if (const auto found = supplied.find(spec.variable.text); found != supplied.end()) {
    context.supplied = found->second;
  }
  Basis basis = spec.basis == "cr"   ? make_cr(context)
                : spec.basis == "cc" ? make_cc(context)
                                     : make_bspline(context, spec.basis == "cp");
  check_penalty(context, basis);
  basis.component.variable = place;
  basis.component.extent = {distinct.min, distinct.max};
  return basis;
}

}  // namespace tessera::gam
