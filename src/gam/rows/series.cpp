// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/series.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "base/math/elementary.hpp"

#include <tessera/job/together.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>
#include <string>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// Code of the level TRUE; an unused code if all values are FALSE.
std::int32_t level_of_start(const Variable& variable) {
  for (const std::string& level : variable.levels) {
    if (level != "FALSE" && level != "TRUE")
      throw base::input_error("ar-start '{}' has the level '{}': give TRUE or FALSE, or 1 or 0",
                              variable.name, level);
  }
  const auto found = std::ranges::find(variable.levels, "TRUE");
  return found == variable.levels.end() ? Variable::unseen
                                        : static_cast<std::int32_t>(found - variable.levels.begin());
}

void check_starts(const Frame& frame, const Variable& variable, std::size_t begin, std::size_t end) {
  for_each_complete_run(frame, begin, end, [&](std::size_t first, std::size_t last) {
    for (std::size_t row = first; row < last; ++row) {
      const double number = variable.numbers[row];
      if (number != 0 && number != 1)
        throw base::input_error("ar-start '{}' is {} in data row {}: give TRUE or FALSE, or 1 or 0",
                                variable.name, number, frame.rows.begin + static_cast<std::int64_t>(row) + 1);
    }
  });
}

/// Values of a row by variable; level codes for factors.
std::vector<double> row_values(const Frame& frame, std::size_t row) {
  std::vector<double> values;
  for (const Variable& variable : frame.variables)
    values.push_back(variable.factor ? variable.codes[row] : variable.numbers[row]);
  return values;
}

std::shared_ptr<const Frame> frame_of_row(const Frame& frame, std::span<const double> values) {
  auto one = std::make_shared<Frame>();
  one->file_rows = frame.file_rows;
  one->rows = {0, 1};
  one->complete = {std::uint8_t{1}};
  for (std::size_t v = 0; v < frame.variables.size(); ++v) {
    const Variable& variable = frame.variables[v];
    Variable& copy = one->variables.emplace_back();
    copy.name = variable.name;
    copy.factor = variable.factor;
    if (variable.factor)
      copy.codes = {static_cast<std::int32_t>(values[v])};
    else
      copy.numbers = {values[v]};
  }
  return one;
}

/// *Collective.* The last complete row of earlier ranks.
std::shared_ptr<const Frame> row_before(const mpi::Communicator& comm, const Frame& frame) {
  std::vector<double> mine;
  if (const auto last = complete_before(frame, frame.complete.size())) mine = row_values(frame, *last);
  std::vector<std::size_t> begins;
  const std::vector<double> all = comm.allgatherv(std::span<const double>(mine), &begins);
  const std::size_t end = begins[at(comm.rank())];
  if (end == 0) return nullptr;
  return frame_of_row(frame, std::span(all).subspan(end - frame.variables.size(), frame.variables.size()));
}

/// By variable: 1 for a factor with one level in each series, judged by this rank's rows.
std::vector<std::uint8_t> constant_factors(const Workers& workers, const Frame& frame, const Series& series) {
  const std::size_t count = frame.variables.size();
  std::vector<std::vector<std::uint8_t>> changing(at(workers.team.size()), std::vector<std::uint8_t>(count));
  for_each_run(workers, frame, [&](int thread, std::size_t begin, std::size_t end) {
    if (!has_complete(frame, begin, end)) return;
    std::vector<std::uint8_t>& own = changing[at(thread)];
    const auto before_run = complete_before(frame, begin);
    for (const Variable& variable : frame.variables) variable.prepare_to_read(begin, end);
    for (std::size_t v = 0; v < count; ++v) {
      const Variable& variable = frame.variables[v];
      if (!variable.factor) continue;
      const Variable* from = &variable;
      std::optional<std::size_t> previous = before_run;
      if (!previous && series.before) {
        from = &series.before->variables[v];
        previous = 0;
      }
      for (std::size_t row = begin; row < end; ++row) {
        if (frame.complete[row] == 0) continue;
        if (previous && variable.codes[row] != from->codes[*previous] && !series.begins_at(frame, row))
          own[v] = 1;
        from = &variable;
        previous = row;
      }
    }
  });
  std::vector<std::uint8_t> constant(count);
  for (std::size_t v = 0; v < count; ++v)
    constant[v] = frame.variables[v].factor &&
                  std::ranges::none_of(changing, [&](const auto& thread) { return thread[v] != 0; });
  return constant;
}

}  // namespace

bool Series::begins_at(const Frame& frame, std::size_t row) const {
  if (start < 0) return false;
  const Variable& variable = frame.variables[at(start)];
  return variable.factor ? variable.codes[row] == start_level : variable.numbers[row] == 1;
}

NeighbourWeights Series::weights() const {
  const double unit = 1 / std::sqrt((1 - rho) * (1 + rho));
  return {unit, -rho * unit};
}

double Series::log_determinant_in_reml(std::int64_t rows) const {
  const std::int64_t begun = start < 0 ? 1 : starts;
  return correlated() ? static_cast<double>(rows - begun) * base::log(weights().own) : 0;
}

double Series::log_determinant_in_aic(std::int64_t rows) const {
  return correlated() ? static_cast<double>(rows - starts) * base::log(weights().own) : 0;
}

bool has_complete(const Frame& frame, std::size_t begin, std::size_t end) {
  return end > begin && std::memchr(frame.complete.data() + begin, 1, end - begin) != nullptr;
}

std::optional<std::size_t> complete_before(const Frame& frame, std::size_t row) {
  while (row > 0) {
    if (frame.complete[--row] != 0) return row;
  }
  return std::nullopt;
}

Series find_series(const Workers& workers, const Frame& frame, int start) {
  Series series;
  series.start = start;
  std::vector<std::array<std::int64_t, 2>> starts(at(workers.team.size()));
  together(workers.comm, [&] {
    if (start < 0) return;
    const Variable& variable = frame.variables[at(start)];
    if (variable.factor) series.start_level = level_of_start(variable);
    for_each_run(workers, frame, [&](int thread, std::size_t begin, std::size_t end) {
      variable.prepare_to_read(begin, end);
      if (!variable.factor) check_starts(frame, variable, begin, end);
      for (std::size_t row = begin; row < end; ++row)
        starts[at(thread)][frame.complete[row] != 0 ? 0 : 1] += series.begins_at(frame, row) ? 1 : 0;
    });
  });
  std::array<std::int64_t, 2> all{};
  for (const auto& [complete, left_out] : starts) {
    all[0] += complete;
    all[1] += left_out;
  }
  workers.comm.allreduce(std::span<std::int64_t>(all), mpi::Reduction::sum);
  series.starts = all[0];
  series.starts_left_out = all[1];
  series.before = row_before(workers.comm, frame);
  series.constant = constant_factors(workers, frame, series);
  std::vector<std::int64_t> constant(series.constant.begin(), series.constant.end());
  workers.comm.allreduce(std::span(constant), mpi::Reduction::min);
  std::ranges::transform(constant, series.constant.begin(),
                         [](std::int64_t one) { return static_cast<std::uint8_t>(one); });
  return series;
}

}  // namespace TESSERA_NAMESPACE::gam
