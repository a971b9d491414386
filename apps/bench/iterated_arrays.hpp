// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "resident_work.hpp"

#include <tessera/job/array.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

namespace tessera::bench {

/// What a solver iterates on: a matrix of sines, and a state of ones that its steps change.
class IteratedArrays {
 public:
  IteratedArrays(Job& job, std::int64_t units)
      : matrix(job, job.plan(units, sum_block), matrix_width), state(job, matrix.plan()), job_(job) {
    double next = static_cast<double>(job.local_range(matrix.plan()).begin) * matrix_width;
    for (double& value : matrix.overwrite()) value = std::sin(next++);
    std::ranges::fill(state.overwrite(), 1.0);
  }

  /// A pass that makes the next state, `rounds` times from the same last one. *Collective.*
  void advance(int rounds) {
    job_.update(
        arrays(matrix.read(), state.read(), state.write()),
        [rounds](Tile& tile, std::span<const double> rows, std::span<const double> last,
                 std::span<double> next) {
          for (int round = 0; round < rounds; ++round)
            advance_on_device(rows.data(), last.data(), next.data(), tile.range().size(), tile.stream());
        },
        [rounds](const HostTile&, std::span<const double> rows, std::span<const double> last,
                 std::span<double> next) {
          for (int round = 0; round < rounds; ++round) advance_on_host(rows, last, next);
        });
  }

  Array<double> matrix;
  Array<double> state;

 private:
  Job& job_;
};

}  // namespace tessera::bench
