// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/pirls/invalid_rows.hpp"

#include "base/at.hpp"
#include "gam/fit/run/block_sums.hpp"
#include "gam/rows/row_reader.hpp"

#include <tessera/mpi/communicator.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

std::string value_text(double number) {
  return std::isnan(number) ? "not a number" : fmt::format("{:g}", number);
}

/// Describes which function of a custom family makes the working weight invalid at `eta`; empty if none does.
std::optional<std::string> family_fault(const CustomFamily& family, double eta) {
  const double mu = family.mean(eta);
  if (!std::isfinite(mu))
    return fmt::format("the inverse link {} is {} at a linear predictor of {:g}", family.inverse_link.text(),
                       value_text(mu), eta);
  const double slope = family.derivative(eta);
  if (!std::isfinite(slope) || slope == 0)
    return fmt::format(
        "the derivative {} is {} at a linear predictor of {:g}, but must be a finite number other than 0",
        family.derivative.text(), value_text(slope), eta);
  const double variance = family.variance(mu);
  if (!(variance > 0) || !std::isfinite(variance))
    return fmt::format("the variance {} is {} at a mean of {:g}, but must be above 0", family.variance.text(),
                       value_text(variance), mu);
  return std::nullopt;
}

std::int64_t data_row(const Rows& rows, std::size_t row) {
  return rows.frame->rows.begin + static_cast<std::int64_t>(row) + 1;
}

/// Describes the fault of a row at the predictor `eta`; empty if the working weight is valid.
std::optional<std::string> row_fault(const Rows& rows, std::size_t row, double eta) {
  const auto number = [&](int variable) { return rows.frame->variables[at(variable)].numbers[row]; };
  const Response y = rows.response_factor * response_of(rows, row);
  const double prior = rows.prior_weight < 0 ? 1 : rows.prior_factor * number(rows.prior_weight);
  const CustomFamily* const custom = rows.family.custom();
  const std::string where = fmt::format("in data row {}", data_row(rows, row));
  if (!std::isfinite(eta)) return fmt::format("{} the linear predictor is {}", where, value_text(eta));
  if (custom != nullptr) {
    if (const auto found = family_fault(*custom, eta))
      return fmt::format("{} the family {} has no working weight: {}", where, custom->name, *found);
  }
  if (!rows.family.predictors().has(eta))
    return fmt::format("{}, but in data row {} the linear predictor is {:g}", needed_predictor(rows.family),
                       data_row(rows, row), eta);
  const double mu = rows.family.mean(eta);
  const double slope = rows.family.derivative(eta);
  const double deviance = rows.family.deviance(y, mu, prior);
  if (std::isfinite(deviance) && std::isfinite(prior * slope * (y - mu)) && slope != 0) return std::nullopt;
  return fmt::format(
      "{} the deviance is {} and the derivative of the mean is {}, at a response of {:g}, a mean of {} and a "
      "prior weight of {:g}",
      where, value_text(deviance), value_text(slope), y.value / rows.response_factor,
      value_text(mu / rows.response_factor), prior / rows.prior_factor);
}

/// As `row_fault`, with several linear predictors.
std::optional<std::string> several_fault(const SeveralFamily& family, const Rows& rows, std::size_t row,
                                         std::span<const double> eta) {
  const auto number = [&](int variable) { return rows.frame->variables[at(variable)].numbers[row]; };
  const double y = number(rows.response);
  const double prior = rows.prior_weight < 0 ? 1 : number(rows.prior_weight);
  double log_likelihood = 0;
  std::vector<double> derivatives(eta.size() + at(predictor_pairs(family.predictors())));
  family.evaluate({.count = 1,
                   .stride = 1,
                   .response = &y,
                   .prior = &prior,
                   .eta = eta.data(),
                   .log_likelihood = &log_likelihood,
                   .gradient = derivatives.data(),
                   .weights = derivatives.data() + eta.size()});
  const bool is_known = std::isfinite(log_likelihood);
  if (is_known && std::ranges::all_of(derivatives, [](double one) { return std::isfinite(one); }))
    return std::nullopt;
  return fmt::format(
      "in data row {} the log likelihood of the family {} is {}, at a response of {:g} and linear predictors "
      "of {:g}",
      data_row(rows, row), family.name,
      is_known ? "finite but has derivatives that are not finite" : value_text(log_likelihood), y,
      fmt::join(eta, ", "));
}

}  // namespace

std::string first_invalid_row(const Job& job, const Rows& rows, std::span<const double> raw_coef) {
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  std::string text;
  std::int64_t mine = none;
  const Frame& frame = *rows.frame;
  RowReader reader(rows);
  std::vector<double> eta(at(rows.family.predictor_count()));
  for (std::size_t row = 0; row < frame.complete.size() && mine == none; ++row) {
    if (frame.complete[row] == 0) continue;
    reader.linear_predictors(row, raw_coef, eta);
    const SeveralFamily* const several = rows.family.several();
    const auto found =
        several != nullptr ? several_fault(*several, rows, row, eta) : row_fault(rows, row, eta[0]);
    if (!found) continue;
    text = *found;
    mine = frame.rows.begin + static_cast<std::int64_t>(row);
  }
  const mpi::Communicator& comm = job.comm();
  const std::int64_t first = comm.allreduce(mine, mpi::Reduction::min);
  if (first == none) return {};
  const auto owner = comm.allreduce(mine == first ? std::int64_t{comm.rank()} : none, mpi::Reduction::min);
  return comm.broadcast_text(text, static_cast<int>(owner));
}

std::string needed_predictor(const Family& family) {
  const PredictorRange range = family.predictors();
  const std::string side = range.has_lower() && range.has_upper()
                               ? fmt::format("between {:g} and {:g}", range.lower, range.upper)
                           : range.has_lower() ? fmt::format("above {:g}", range.lower)
                                               : fmt::format("below {:g}", range.upper);
  return fmt::format("{}({}) needs a linear predictor {}", family.name(), family.link_name(), side);
}

RowsAtEdge rows_at_edge(const FitContext& fit, const Rows& rows, std::span<const double> raw_begin,
                        std::span<const double> raw_end, double near) {
  const Frame& frame = *rows.frame;
  const PredictorRange range = rows.family.predictors();
  const std::vector<double> counts = sums_over_blocks<RowReader>(
      fit, rows, 2,
      [&](RowReader& reader, std::size_t first, std::size_t last, std::span<double> sums) {
        for (std::size_t row = first; row < last; ++row) {
          if (frame.complete[row] == 0) continue;
          const double eta = reader.linear_predictor(row, raw_end);
          const bool low = eta - range.lower < near;
          if (!low && !(range.upper - eta < near)) continue;
          const double before = reader.linear_predictor(row, raw_begin);
          ++sums[0];
          sums[1] += (low ? eta > before : eta < before) ? 1 : 0;
        }
      },
      rows);
  return {static_cast<std::int64_t>(counts[0]), static_cast<std::int64_t>(counts[1])};
}

}  // namespace TESSERA_NAMESPACE::gam
