// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mpi/job/job_testing.hpp"

#include <tessera/job/array.hpp>

#include <cmath>
#include <vector>

/// An iterative solver for tests of arrays. Every rank can compute its state.
namespace tessera::testing {

constexpr std::int64_t solver_units = 1000;
constexpr std::int64_t solver_block = 16;
constexpr std::int64_t matrix_width = 3;

inline double matrix_value(std::int64_t unit, std::int64_t column) {
  return std::sin(static_cast<double>(unit * matrix_width + column));
}

/// The next state of a unit.
inline double advanced(std::span<const double> row, double state) {
  for (const double value : row) state = 0.75 * state + value;
  return state;
}

/// The states of `units` after this many steps.
inline std::vector<double> expected_states(Range units, int steps) {
  std::vector<double> states;
  for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
    std::vector<double> row;
    for (std::int64_t column = 0; column < matrix_width; ++column) row.push_back(matrix_value(unit, column));
    auto state = static_cast<double>(unit);
    for (int step = 0; step < steps; ++step) state = advanced(row, state);
    states.push_back(state);
  }
  return states;
}

inline double expected_sum_of_states(int steps) {
  const auto states = expected_states({0, solver_units}, steps);
  ReproducibleSum sum(1);
  for (std::size_t begin = 0; begin < states.size(); begin += solver_block) {
    double partial = 0;
    for (std::size_t i = begin; i < std::min(states.size(), begin + solver_block); ++i) partial += states[i];
    sum.add(std::span<const double>(&partial, 1));
  }
  return sum.values().front();
}

/// A constant matrix, and the states of its rows.
struct Solver {
  explicit Solver(Job& its_job)
      : job(its_job),
        matrix(job, job.plan(solver_units, solver_block), matrix_width),
        state(job, matrix.plan()) {
    const Range mine = job.local_range(matrix.plan());
    const auto rows = matrix.overwrite();
    const auto states = state.overwrite();
    for (std::int64_t unit = mine.begin; unit < mine.end; ++unit) {
      const auto i = static_cast<std::size_t>(unit - mine.begin);
      for (std::size_t column = 0; column < matrix_width; ++column)
        rows[i * matrix_width + column] = matrix_value(unit, static_cast<std::int64_t>(column));
      states[i] = static_cast<double>(unit);
    }
  }

  static void advance(std::span<const double> rows, std::span<double> states) {
    for (std::size_t i = 0; i < states.size(); ++i)
      states[i] = advanced(rows.subspan(i * matrix_width, matrix_width), states[i]);
  }

  void step() {
    job.update(arrays(matrix.read(), state.modify()), no_real_device,
               [](const HostTile&, std::span<const double> rows, std::span<double> states) {
                 advance(rows, states);
               });
  }
  [[nodiscard]] double sum_of_states() {
    return job
        .reduce(arrays(state.read()), 1, no_real_device,
                [](const HostTile&, std::span<double> partial, std::span<const double> states) {
                  for (const double value : states) partial[0] += value;
                })
        .front();
  }
  [[nodiscard]] std::vector<double> states() const { return {state.host().begin(), state.host().end()}; }
  [[nodiscard]] std::vector<double> expected(int steps) const {
    return expected_states(job.local_range(state.plan()), steps);
  }

  Job& job;
  Array<double> matrix;
  Array<double> state;
};

}  // namespace tessera::testing
