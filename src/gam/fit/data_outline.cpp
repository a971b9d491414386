// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/data_outline.hpp"

#include "base/at.hpp"
#include "base/number.hpp"
#include "gam/data/frame/sampled_rows.hpp"
#include "gam/rows/row_residuals.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Number of bins of a variable's histogram.
constexpr int outline_parts = 60;
constexpr std::int64_t rows_per_look = 256;

using base::at;

/// Rounds to `digits` significant digits.
double rounded(double value, int digits) {
  std::array<char, 32> text{};
  const auto written =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, digits);
  return base::parse_number<double>({text.data(), written.ptr}).value_or(value);
}

/// One spline per variable of the design.
std::vector<const Component*> splines(const Design& design) {
  std::vector<const Component*> found;
  for (const RawTerm& term : design.terms) {
    for (const Component& component : term.components) {
      const bool known = std::any_of(found.begin(), found.end(), [&](const Component* other) {
        return other->variable == component.variable;
      });
      if (component.is_curve() && !known) found.push_back(&component);
    }
  }
  return found;
}

/// *Collective.* Range and histogram of each variable of a spline.
std::vector<VariableOutline> variable_outlines(const mpi::Communicator& comm, const Rows& rows,
                                               std::span<const std::int64_t> sample) {
  std::vector<VariableOutline> outlines;
  std::vector<std::int64_t> counts;
  for (const Component* spline : splines(*rows.design)) {
    const Variable& variable = rows.frame->variables[at(spline->variable)];
    const auto [min, max] = spline->extent;
    const auto begin = counts.size();
    counts.resize(begin + outline_parts);
    for (const std::int64_t row : sample) {
      const double part = min < max ? (variable.numbers[at(row)] - min) / (max - min) * outline_parts : 0;
      ++counts[begin + at(std::clamp(static_cast<int>(part), 0, outline_parts - 1))];
    }
    outlines.push_back({variable.name, min, max, {}});
  }
  comm.allreduce(std::span(counts), mpi::Reduction::sum);
  for (std::size_t v = 0; v < outlines.size(); ++v) {
    const auto begin = counts.begin() + static_cast<std::ptrdiff_t>(v * outline_parts);
    outlines[v].counts.assign(begin, begin + outline_parts);
  }
  return outlines;
}

/// *Collective.* For each pair of variables in a two-dimensional smooth, the parts of the plane with rows.
std::vector<Occupancy> occupancy_of_surfaces(const Workers& workers, const Rows& rows) {
  std::vector<Occupancy> found;
  const std::vector<Variable>& variables = rows.frame->variables;
  for (const RawTerm& term : rows.design->terms) {
    std::vector<int> numbers;
    for (const Component& component : term.components) {
      if (component.is_curve() || component.isotropic)
        Component::for_each_variable(component, [&](int variable) { numbers.push_back(variable); });
    }
    if (numbers.size() != 2) continue;
    const auto is_it = [&](const Occupancy& one) {
      return one.x == variables[at(numbers[0])].name && one.y == variables[at(numbers[1])].name;
    };
    if (std::ranges::none_of(found, is_it))
      found.push_back(occupancy_of(workers, *rows.frame, numbers[0], numbers[1]));
  }
  return found;
}

struct RowResidual {
  double linear_predictor;
  double deviance_residual;
  double standardised_residual;
};

RowResidual residual_of(const Rows& rows, RowResiduals& residuals, std::size_t row) {
  const RowResiduals::Residual own = residuals.of(row);
  const double eta = own.linear_predictors[0];
  const double deviance = own.deviance;
  const double unit = 1 / std::sqrt(rows.prior_factor) / rows.response_factor;
  const double standardised = rows.series.correlated() ? residuals.standardised(row) : deviance;
  return {rounded(eta / rows.response_factor, 9), rounded(deviance * unit, 6),
          rounded(standardised * unit, 6)};
}

}  // namespace

DataOutline outline_of(const tessera::Job& job, const Rows& rows, std::span<const double> raw_coef,
                       bool residuals) {
  const mpi::Communicator& comm = job.comm();
  const Workers workers{comm, job.host_team()};
  const std::vector<std::int64_t> sample = local_sample(workers, *rows.frame);
  DataOutline outline;
  outline.variables = variable_outlines(comm, rows, sample);
  if (!residuals) return outline;
  outline.occupancy = occupancy_of_surfaces(workers, rows);

  std::vector<RowResiduals> readers(at(job.threads()), RowResiduals(rows, raw_coef));  // one per thread
  std::vector<RowResidual> mine(sample.size());
  job.host_team().for_each_block({0, std::ssize(sample)}, rows_per_look, [&](int thread, Range block) {
    for (std::int64_t i = block.begin; i < block.end; ++i)
      mine[at(i)] = residual_of(rows, readers[at(thread)], at(sample[at(i)]));
  });
  std::vector<std::size_t> counts(at(comm.size()));
  counts[0] = mine.size();
  for (const RowResidual& one : comm.alltoallv(std::span<const RowResidual>(mine), counts)) {
    outline.linear_predictor.push_back(one.linear_predictor);
    outline.deviance_residual.push_back(one.deviance_residual);
    if (rows.series.correlated()) outline.standardised_residual.push_back(one.standardised_residual);
  }
  return outline;
}

}  // namespace TESSERA_NAMESPACE::gam
