// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/pirls/response_variation.hpp"

#include "base/errors.hpp"
#include "gam/data/frame/extents.hpp"

#include <tessera/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// *Collective.* Ranges of the response, of the offset, and of the difference. The difference is on the scale
/// of the linear predictor if the family starts at the responses.
std::array<Extent, 3> response_extents(const Workers& workers, const Rows& rows) {
  const Frame& frame = *rows.frame;
  const auto numbers = [&](int variable) -> const ColumnNumbers& {
    return frame.variables[static_cast<std::size_t>(variable)].numbers;
  };
  // Without offsets the difference is the response; without weights all complete rows count: one scan.
  if (rows.offsets.empty() && rows.prior_weight < 0) {
    const Extent response = extent_of(workers, frame, rows.response);
    return {response, {0, 0}, response};
  }
  const bool starts_there = rows.family.start() == Start::response;
  const auto extents = extents_of(workers, frame, 3, [&](std::size_t row, std::span<Extent> here) {
    if (rows.prior_weight >= 0 && !(numbers(rows.prior_weight)[row] > 0)) return;
    const double y = numbers(rows.response)[row];
    double offset = 0;
    for (const int variable : rows.offsets) offset += numbers(variable)[row];
    here[0].add(y);
    here[1].add(offset);
    here[2].add((starts_there ? rows.family.predictor(y).value_or(y) : y) - offset);
  });
  return {extents[0], extents[1], extents[2]};
}

/// Whether the columns of the parametric part span the constant.
bool has_constant(const FormulaTerms& formula, const Frame& frame) {
  return formula.intercept ||
         std::any_of(formula.parametric.begin(), formula.parametric.end(), [&](const ParametricTerm& term) {
           return std::all_of(term.variables.begin(), term.variables.end(),
                              [&](const Expression& variable) { return frame.at(variable.text).factor; });
         });
}

std::string complete_row_of(const Rows& rows) {
  return rows.prior_weight >= 0 ? "complete row with a weight above 0" : "complete row";
}

}  // namespace

void require_variation(const Workers& workers, const Rows& rows, const FormulaTerms& formula) {
  const auto [response, offset, difference] = response_extents(workers, rows);
  const Frame& frame = *rows.frame;
  const std::string& name = frame.variables[static_cast<std::size_t>(rows.response)].name;
  const std::string where = "in every " + complete_row_of(rows);
  if (response.empty())
    throw Error(ErrorCode::input,
                fmt::format("the weights '{}' are 0 in every complete row: give weights above 0",
                            frame.variables[static_cast<std::size_t>(rows.prior_weight)].name));
  bool constant = response.constant(response.size());
  if (constant && rows.limit >= 0) {
    const Extent limit = extent_of(workers, frame, rows.limit);
    constant = limit.min == limit.max;
  }
  const bool limit = constant && rows.family.limits().has(response.min);
  if (limit || (constant && offset.constant(offset.size()) && has_constant(formula, frame)))
    throw Error(ErrorCode::input, fmt::format("the response '{}' is {:g} {}: give a response that varies",
                                              name, response.min, where));
  if (response.max < rows.family.least_maximum())
    throw base::input_error("the response '{}' is 0 or 1 {}: use the family binomial", name, where);
  if (rows.family.start() == Start::response && !rows.offsets.empty() && has_constant(formula, frame) &&
      difference.constant(std::max(offset.size(), response.size())))
    throw Error(ErrorCode::input,
                fmt::format("the response '{}' minus the offset is constant {}: give a response that varies",
                            name, where));
}

void require_all_classes(const Workers& workers, const Rows& rows) {
  if (!rows.family.has_classes()) return;
  const Frame& frame = *rows.frame;
  const auto number = [&](int variable, std::size_t row) {
    return frame.variables[static_cast<std::size_t>(variable)].numbers[row];
  };
  const int first = rows.family.first_class();
  const auto found =
      extents_of(workers, frame, static_cast<std::size_t>(rows.family.classes()),
                 [&](std::size_t row, std::span<Extent> here) {
                   if (rows.prior_weight >= 0 && !(number(rows.prior_weight, row) > 0)) return;
                   const double own = number(rows.response, row);
                   here[static_cast<std::size_t>(own) - static_cast<std::size_t>(first)].add(own);
                 });
  const auto absent = std::ranges::find_if(found, [](const Extent& one) { return one.empty(); });
  if (absent == found.end()) return;
  const Variable& response = frame.variables[static_cast<std::size_t>(rows.response)];
  const auto index = absent - found.begin();
  throw Error(
      ErrorCode::input,
      fmt::format("the response '{}' is never {} in a {}: use the family {} with only the classes that occur",
                  response.name,
                  response.levels.empty()
                      ? std::to_string(first + index)
                      : fmt::format("'{}'", response.levels[static_cast<std::size_t>(index)]),
                  complete_row_of(rows), rows.family.name()));
}

}  // namespace TESSERA_NAMESPACE::gam
