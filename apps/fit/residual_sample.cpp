// SPDX-License-Identifier: Apache-2.0
#include "residual_sample.hpp"

#include "parallel_blocks.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace tessera::fit {
namespace {

/// Parts of a variable's extent in which rows are counted.
constexpr int outline_parts = 60;
/// Rows that a thread looks at in one go.
constexpr std::int64_t rows_per_look = 1 << 16;

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

/// A fixed number for each i that looks drawn. Source: Steele, Lea and Flood, OOPSLA 2014 (SplitMix64).
std::uint64_t scrambled(std::uint64_t i) {
  i += 0x9e3779b97f4a7c15U;
  i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9U;
  i = (i ^ (i >> 27)) * 0x94d049bb133111ebU;
  return i ^ (i >> 31);
}

/// To so many significant digits.
double rounded(double value, int digits) {
  return std::strtod(fmt::format("{:.{}g}", value, digits).c_str(), nullptr);
}

/// The local rows of the job's sample. *Collective.*
std::vector<std::int64_t> local_sample(const mpi::Communicator& comm, const Frame& frame) {
  const auto mine =
      static_cast<std::int64_t>(std::count(frame.complete.begin(), frame.complete.end(), std::uint8_t{1}));
  const std::vector<std::int64_t> counts = comm.allgather(mine);
  std::int64_t complete = 0;  // rows before this one that are, in the whole job
  for (int rank = 0; rank < comm.rank(); ++rank) complete += counts[at(rank)];

  const std::vector<std::int64_t> sample = sampled_rows(frame.complete_rows);
  auto next = std::lower_bound(sample.begin(), sample.end(), complete);
  std::vector<std::int64_t> rows;
  for (std::size_t row = 0; row < frame.complete.size() && next != sample.end(); ++row) {
    if (frame.complete[row] == 0) continue;
    if (*next == complete++) {
      rows.push_back(static_cast<std::int64_t>(row));
      ++next;
    }
  }
  return rows;
}

/// The variables of the splines, each once, as indices into the frame.
std::vector<int> spline_variables(const Design& design) {
  std::vector<int> variables;
  for (const RawTerm& term : design.terms) {
    for (const Component& component : term.components) {
      if (component.kind == Component::Kind::spline &&
          std::find(variables.begin(), variables.end(), component.variable) == variables.end()) {
        variables.push_back(component.variable);
      }
    }
  }
  return variables;
}

/// -min and max of a variable over this rank's complete rows.
std::array<double, 2> local_extent(const Frame& frame, const std::vector<double>& numbers, int threads) {
  constexpr double none = -std::numeric_limits<double>::infinity();
  std::vector<std::array<double, 2>> ends(at(threads), {none, none});
  for_each_block({0, static_cast<std::int64_t>(numbers.size())}, rows_per_look, threads,
                 [&](int thread, Range block) {
                   std::array<double, 2> end = ends[at(thread)];
                   for (std::int64_t row = block.begin; row < block.end; ++row) {
                     if (frame.complete[at(row)] == 0) continue;
                     end[0] = std::max(end[0], -numbers[at(row)]);
                     end[1] = std::max(end[1], numbers[at(row)]);
                   }
                   ends[at(thread)] = end;
                 });
  std::array<double, 2> all{none, none};
  for (const auto& end : ends) all = {std::max(all[0], end[0]), std::max(all[1], end[1])};
  return all;
}

/// *Collective.*
std::vector<VariableOutline> variable_outlines(const mpi::Communicator& comm, int threads, const Rows& rows,
                                               std::span<const std::int64_t> sample) {
  const std::vector<int> variables = spline_variables(*rows.design);
  std::vector<double> ends;
  for (const int variable : variables) {
    const auto end = local_extent(*rows.frame, rows.frame->variables[at(variable)].numbers, threads);
    ends.insert(ends.end(), end.begin(), end.end());
  }
  comm.allreduce(std::span(ends), mpi::Reduction::max);

  std::vector<VariableOutline> outlines;
  std::vector<std::int64_t> counts(variables.size() * outline_parts);
  for (std::size_t v = 0; v < variables.size(); ++v) {
    const Variable& variable = rows.frame->variables[at(variables[v])];
    const double min = -ends[2 * v];
    const double max = ends[2 * v + 1];
    for (const std::int64_t row : sample) {
      const double part = min < max ? (variable.numbers[at(row)] - min) / (max - min) * outline_parts : 0;
      ++counts[v * outline_parts + at(std::clamp(static_cast<int>(part), 0, outline_parts - 1))];
    }
    outlines.push_back({variable.name, min, max, {}});
  }
  comm.allreduce(std::span(counts), mpi::Reduction::sum);
  for (std::size_t v = 0; v < variables.size(); ++v) {
    const auto begin = counts.begin() + static_cast<std::ptrdiff_t>(v * outline_parts);
    outlines[v].counts.assign(begin, begin + outline_parts);
  }
  return outlines;
}

struct RowResidual {
  double linear_predictor;
  double deviance_residual;
};

RowResidual residual_of(const Rows& rows, std::size_t row, std::span<const double> raw_coef) {
  const auto number = [&](int variable) { return rows.frame->variables[at(variable)].numbers[row]; };
  double eta = linear_predictor(*rows.frame, *rows.design, row, raw_coef);
  for (const int offset : rows.offsets) eta += number(offset);
  const double y = number(rows.response);
  const double mu = rows.family.mean(eta);
  const double prior = rows.prior_weight < 0 ? 1 : number(rows.prior_weight);
  const double deviance = rows.family.custom ? prior * rows.family.custom->deviance(y, mu)
                                             : row_deviance(rows.family.kind, y, mu, prior);
  // Rounding leaves a saturated row's deviance a little below zero now and then.
  return {rounded(eta, 9), rounded(std::copysign(std::sqrt(std::max(0.0, deviance)), y - mu), 6)};
}

}  // namespace

std::vector<std::int64_t> sampled_rows(std::int64_t rows, std::int64_t most) {
  const std::int64_t count = std::min(rows, most);
  std::vector<std::int64_t> sample;
  sample.reserve(at(count));
  // floor(part * rows / count), without the product that could be too large.
  const auto begin = [&](std::int64_t part) { return part * (rows / count) + part * (rows % count) / count; };
  for (std::int64_t part = 0; part < count; ++part) {
    const auto size = static_cast<std::uint64_t>(begin(part + 1) - begin(part));
    sample.push_back(begin(part) +
                     static_cast<std::int64_t>(scrambled(static_cast<std::uint64_t>(part)) % size));
  }
  return sample;
}

DataOutline outline_of(const mpi::Communicator& comm, int threads, const Rows& rows,
                       std::span<const double> raw_coef, bool residuals) {
  const std::vector<std::int64_t> sample = local_sample(comm, *rows.frame);
  DataOutline outline;
  outline.variables = variable_outlines(comm, threads, rows, sample);
  if (!residuals) return outline;

  std::vector<RowResidual> mine;
  mine.reserve(sample.size());
  for (const std::int64_t row : sample) mine.push_back(residual_of(rows, at(row), raw_coef));
  std::vector<std::size_t> counts(at(comm.size()));
  counts[0] = mine.size();
  for (const RowResidual& one : comm.alltoallv(std::span<const RowResidual>(mine), counts)) {
    outline.linear_predictor.push_back(one.linear_predictor);
    outline.deviance_residual.push_back(one.deviance_residual);
  }
  return outline;
}

}  // namespace tessera::fit
