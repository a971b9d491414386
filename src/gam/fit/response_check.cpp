// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/response_check.hpp"

#include <tessera/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>

namespace tessera::gam {
namespace {

/// The values that something takes over the rows of the job.
struct Extent {
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();

  void add(double value) {
    min = std::min(min, value);
    max = std::max(max, value);
  }
  [[nodiscard]] bool empty() const { return min > max; }
  /// The same but for the rounding of values as large as `size`.
  [[nodiscard]] bool constant(double size) const {
    return max - min <= 4 * std::numeric_limits<double>::epsilon() * size;
  }
  [[nodiscard]] double size() const { return std::max(std::abs(min), std::abs(max)); }
};

struct Extents {
  Extent response;
  Extent offset;
  Extent
      difference;  ///< of the two, on the scale of the linear predictor where the family has its start there
};

Extents extents_of(const tessera::mpi::Communicator& comm, const Rows& rows) {
  const Frame& frame = *rows.frame;
  const auto numbers = [&](int variable) -> const std::vector<double>& {
    return frame.variables[static_cast<std::size_t>(variable)].numbers;
  };
  const bool starts_there = rows.family.start() == Start::response;
  Extents extents;
  for (std::size_t i = 0; i < frame.complete.size(); ++i) {
    if (frame.complete[i] == 0 || (rows.prior_weight >= 0 && !(numbers(rows.prior_weight)[i] > 0))) continue;
    const double y = numbers(rows.response)[i];
    double offset = 0;
    for (const int variable : rows.offsets) offset += numbers(variable)[i];
    extents.response.add(y);
    extents.offset.add(offset);
    extents.difference.add((starts_there ? rows.family.predictor(y).value_or(y) : y) - offset);
  }
  std::array<double, 6> limits{-extents.response.min, extents.response.max,    -extents.offset.min,
                               extents.offset.max,    -extents.difference.min, extents.difference.max};
  comm.allreduce(std::span<double>(limits), mpi::Reduction::max);
  return {{-limits[0], limits[1]}, {-limits[2], limits[3]}, {-limits[4], limits[5]}};
}

/// True if the columns of the parametric part can add up to a constant.
bool has_constant(const FormulaTerms& formula, const Frame& frame) {
  return formula.intercept ||
         std::any_of(formula.parametric.begin(), formula.parametric.end(), [&](const ParametricTerm& term) {
           return std::all_of(term.variables.begin(), term.variables.end(),
                              [&](const Expression& variable) { return frame.at(variable.text).factor; });
         });
}

}  // namespace

void require_variation(const tessera::mpi::Communicator& comm, const Rows& rows,
                       const FormulaTerms& formula) {
  const auto [response, offset, difference] = extents_of(comm, rows);
  const Frame& frame = *rows.frame;
  const std::string& name = frame.variables[static_cast<std::size_t>(rows.response)].name;
  const char* where =
      rows.prior_weight >= 0 ? "in every complete row of a weight above 0" : "in every complete row";
  if (response.empty())
    throw Error(ErrorCode::input,
                fmt::format("the weights '{}' are 0 in every complete row",
                            frame.variables[static_cast<std::size_t>(rows.prior_weight)].name));
  const bool constant = response.constant(response.size());
  const bool limit = constant && rows.family.limits().has(response.min);
  if (limit || (constant && offset.constant(offset.size()) && has_constant(formula, frame)))
    throw Error(ErrorCode::input, fmt::format("the response '{}' is {:g} {}: there is nothing to fit", name,
                                              response.min, where));
  if (rows.family.start() == Start::response && !rows.offsets.empty() && has_constant(formula, frame) &&
      difference.constant(std::max(offset.size(), response.size())))
    throw Error(
        ErrorCode::input,
        fmt::format("the response '{}' is that of the offset {}: there is nothing to fit", name, where));
}

}  // namespace tessera::gam
