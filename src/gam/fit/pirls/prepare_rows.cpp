// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/pirls/prepare_rows.hpp"

#include "base/errors.hpp"
#include "gam/data/frame/extents.hpp"
#include "gam/design/standardise.hpp"
#include "gam/fit/pirls/response_variation.hpp"

#include <tessera/job/together.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

Variable& variable_of(Frame& frame, int index) {
  return frame.variables[static_cast<std::size_t>(index)];
}

/// Replaces a factor response by class numbers, in the order of its levels, from the family's first class on.
/// As in glm(), the first of two levels is failure.
void make_numeric_response(const Workers& workers, Frame& frame, int index, const Family& family) {
  Variable& response = variable_of(frame, index);
  if (!response.factor) return;
  const std::vector<std::string>& levels = response.levels;
  if (levels.size() == 1)
    throw base::input_error("the response '{}' is '{}' in every complete row: give a response that varies",
                            response.name, levels[0]);
  const auto classes = static_cast<std::size_t>(family.classes());
  if (levels.size() != classes) {
    std::string some;
    for (std::size_t i = 0; i < std::min<std::size_t>(levels.size(), 3); ++i)
      some += fmt::format("{}'{}'", i == 0 ? "" : ", ", levels[i]);
    throw base::input_error(
        "the response '{}' has {} levels in the complete rows ({}{}): give {}", response.name, levels.size(),
        some, levels.size() > 3 ? ", ..." : "",
        classes == 2 && family.several() == nullptr
            ? std::string("a response with two levels, failure and success")
        : family.several() == nullptr
            ? fmt::format("a response with {} levels, as many as ocat's R", classes)
            : fmt::format("the family multinom({}), with one formula per level except the first",
                          levels.size() - 1));
  }
  const std::span<const std::int32_t> codes = response.codes;
  const int first = family.first_class();
  response.numbers = frame.memory.column<double>(frame.memory.place<double>(codes.size()));
  double* const numbers = response.numbers.writable();
  for_each_run(workers, frame, [&](int /*thread*/, std::size_t begin, std::size_t end) {
    response.codes.prepare_to_read(begin, end);
    for (std::size_t i = begin; i < end; ++i)
      numbers[i] = codes[i] >= 0 ? first + codes[i] : std::numeric_limits<double>::quiet_NaN();
    response.numbers.release_written(begin, end);
  });
  response.codes = {};
  response.factor = false;
  // All levels of the response occur in the job, even if not on this rank.
  if (!frame.extents.empty())
    frame.extents[static_cast<std::size_t>(index)] = {static_cast<double>(first),
                                                      first + static_cast<double>(classes - 1)};
}

/// Calls `refuse(number, row)` for the first complete row with a bad number. `first_fault(numbers)` returns
/// the index of the first bad number, or their count if there is none.
template <class FirstFault, class Refuse>
void check_numbers(const Workers& workers, const Frame& frame, const Variable& variable,
                   const FirstFault& first_fault, const Refuse& refuse) {
  for_each_run(workers, frame, [&](int /*thread*/, std::size_t begin, std::size_t end) {
    variable.prepare_to_read(begin, end);
    for_each_complete_run(frame, begin, end, [&](std::size_t first, std::size_t last) {
      variable.numbers.for_each_piece(first, last, [&](std::span<const double> numbers) {
        const std::size_t fault = first_fault(numbers);
        first += fault;
        if (fault < numbers.size())
          refuse(numbers[fault], frame.rows.begin + static_cast<std::int64_t>(first) + 1);
      });
    });
  });
}

[[noreturn]] void refuse_count(const std::string& response, std::int64_t row) {
  throw base::input_error(
      "response '{}' has a negative count in data row {}: give the numbers of successes and of failures",
      response, row);
}

void check_limits(const Workers& workers, const Rows& rows) {
  const Frame& frame = *rows.frame;
  for_each_run(workers, frame, [&](int /*thread*/, std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      if (frame.complete[row] == 0) continue;
      const Response y = response_of(rows, row);
      if (const auto fault = rows.family.response_fault(y))
        throw base::input_error(
            "response 'cbind({}, {})' is {} and {} in data row {}: for the {} family it {}",
            frame.variables[static_cast<std::size_t>(rows.response)].name,
            frame.variables[static_cast<std::size_t>(rows.limit)].name, y.value, y.limit,
            frame.rows.begin + static_cast<std::int64_t>(row) + 1, rows.family.name(), *fault);
    }
  });
}

/// `of_counts`: the response is a proportion, outside [0, 1] if a count is negative.
void check_response(const Workers& workers, const Frame& frame, int index, const Family& family,
                    bool of_counts) {
  // Valid responses form an interval, except for classes and families of several predictors: no scan is
  // needed if both ends of this rank's range are valid.
  const Variable& response = frame.variables[static_cast<std::size_t>(index)];
  if (!frame.extents.empty() && !family.has_outputs() && !family.is_censored()) {
    const Extent& known = frame.extents[static_cast<std::size_t>(index)];
    if (known.empty() || (!family.response_fault(known.min) && !family.response_fault(known.max))) return;
  }
  const auto refuse = [&](double number, std::int64_t row) {
    if (of_counts) refuse_count(response.name, row);
    throw base::input_error(
        "response '{}' is {} in data row {}: for the {} family it {}{}", response.name, number, row,
        family.name(), family.response_fault(number).value(),
        family.classes() == 0 ? std::string()
                              : fmt::format(", or be a factor of {} levels",
                                            family.two_levels() ? "two" : std::to_string(family.classes())));
  };
  check_numbers(
      workers, frame, response, [&](std::span<const double> numbers) { return family.first_fault(numbers); },
      refuse);
}

/// `counts`: the response whose trials are the weights; empty if an option gives the weights.
void check_weights(const Workers& workers, const Frame& frame, const Variable& weights,
                   const std::string& counts) {
  check_numbers(
      workers, frame, weights,
      [](std::span<const double> numbers) {
        const auto fault = std::ranges::find_if_not(numbers, [](double weight) { return weight >= 0; });
        return static_cast<std::size_t>(fault - numbers.begin());
      },
      [&](double number, std::int64_t row) {
        if (!counts.empty()) refuse_count(counts, row);
        throw base::input_error("weights '{}' are {} in data row {}: give weights of 0 or more", weights.name,
                                number, row);
      });
}

/// Chooses powers of two that scale the response and the weights to about 1: the response if the family does
/// not depend on its unit, the weights if only their ratios matter.
void choose_units(const Workers& workers, Rows& rows) {
  if (rows.family.scale()) return;
  const Frame& frame = *rows.frame;
  const auto number = [&](int variable, std::size_t row) {
    return frame.variables[static_cast<std::size_t>(variable)].numbers[row];
  };
  if (rows.family.linear()) {
    const auto level = [&](std::size_t row, std::span<Extent> here) {
      double difference = number(rows.response, row);
      for (const int offset : rows.offsets) difference -= number(offset, row);
      here[0].add(difference);
    };
    const Extent levels = rows.offsets.empty() ? extent_of(workers, frame, rows.response)
                                               : extents_of(workers, frame, 1, level).front();
    rows.response_factor = power_of_two_for(levels.size());
  }
  if (rows.prior_weight >= 0)
    rows.prior_factor = power_of_two_for(extent_of(workers, frame, rows.prior_weight).max);
}

/// If all responses are on one side of a pole of the link, the means stay on that side too: a step across the
/// pole would lead to another optimum, with means far from all responses.
void choose_side(const Workers& workers, Rows& rows) {
  if (!rows.family.has_two_sides()) return;
  const Extent responses = extent_of(workers, *rows.frame, rows.response);
  if (responses.min >= 0 || responses.max <= 0)
    rows.family = rows.family.on_side(responses.min >= 0 ? 1 : -1);
}

}  // namespace

bool has_correlated_residuals(const FitOptions& options) {
  return options.rho != 0 || options.estimate_rho;
}

void check_correlation(const FitOptions& options) {
  const Family& family = options.family.definition();
  if (!(std::abs(options.rho) < 1))
    throw base::usage_error("rho is {}: give a number between -1 and 1", options.rho);
  if (!family.may_be_correlated() && has_correlated_residuals(options))
    throw base::usage_error(
        "rho cannot be used with the family {}, whose residuals are not correlated: remove rho",
        family.name());
  if (!options.ar_start.empty() && !has_correlated_residuals(options))
    throw base::usage_error("ar-start has no effect without rho: also give rho, or remove ar-start");
  if (options.estimate_rho && !family.linear())
    throw base::usage_error(
        "rho = auto needs the gaussian family with the identity link: give rho as a number for the family {}",
        family.text());
}

std::optional<Expression> prior_weights(const FormulaTerms& formula, const FitOptions& options) {
  if (options.weights.empty()) return formula.trials;
  const Expression given = option_expression(options.weights);
  if (!formula.trials) return given;
  return parse_expression(fmt::format("({}) * ({})", given.text, formula.trials->text));
}

Rows prepare_rows(const Workers& workers, Frame& frame, const FormulaTerms& formula,
                  const FitOptions& options) {
  Rows rows;
  rows.frame = &frame;
  rows.family = options.family.definition();
  rows.response = frame.index_of(formula.response.text);
  if (formula.limit) rows.limit = frame.index_of(formula.limit->text);
  const auto indices_of = [&](const std::vector<Expression>& offsets) {
    std::vector<int> indices;
    for (const Expression& offset : offsets) indices.push_back(frame.index_of(offset.text));
    return indices;
  };
  rows.offsets = indices_of(formula.offsets);
  for (const FormulaTerms& one : formula.further) rows.further_offsets.push_back(indices_of(one.offsets));
  if (const auto weights = prior_weights(formula, options)) rows.prior_weight = frame.index_of(weights->text);
  together(workers.comm, [&] {
    if (frame.chosen_rows == 0)
      throw base::input_error("subset '{}' selects no row: give another condition", options.subset);
    if (frame.complete_rows == 0) {
      throw base::input_error(
          "the table has no complete row{}: remove variables with missing values from the formula, or "
          "correct the NA strings",
          missing_by_column(frame));
    }
    make_numeric_response(workers, frame, rows.response, rows.family);
    if (rows.limit < 0)
      check_response(workers, frame, rows.response, rows.family, formula.trials.has_value());
    else
      check_limits(workers, rows);
    if (rows.prior_weight >= 0)
      check_weights(workers, frame, variable_of(frame, rows.prior_weight),
                    options.weights.empty() ? formula.response.text : "");
  });
  if (has_correlated_residuals(options)) {
    const int start =
        options.ar_start.empty() ? -1 : frame.index_of(option_expression(options.ar_start).text);
    rows.series = find_series(workers, frame, start);
    rows.series.rho = options.estimate_rho ? 0 : options.rho;
  }
  require_variation(workers, rows, formula);
  require_all_classes(workers, rows);
  choose_side(workers, rows);
  choose_units(workers, rows);
  return rows;
}

double deviance_unit(const Rows& rows) {
  return 1 / rows.response_factor / rows.response_factor / rows.prior_factor;
}

}  // namespace TESSERA_NAMESPACE::gam
