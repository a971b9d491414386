// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/at.hpp"
#include "gam/table/frame.hpp"
#include "gam/table/workers.hpp"

#include <tessera/mpi/communicator.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace tessera::gam {

/// The least and the largest of some values.
struct Extent {
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();

  void add(double value) {
    min = std::min(min, value);
    max = std::max(max, value);
  }
  void add(const Extent& other) {
    min = std::min(min, other.min);
    max = std::max(max, other.max);
  }
  [[nodiscard]] bool empty() const { return min > max; }
  /// The same but for the rounding of values as large as `size`.
  [[nodiscard]] bool constant(double size) const {
    return max - min <= 4 * std::numeric_limits<double>::epsilon() * size;
  }
  [[nodiscard]] double size() const { return std::max(std::abs(min), std::abs(max)); }
};

/// *Collective.* Makes each the extent of the values of all ranks. A zero has no sign, whichever came first.
inline void unite(const mpi::Communicator& comm, std::span<Extent> extents) {
  std::vector<double> ends;
  for (const Extent& one : extents) ends.insert(ends.end(), {-one.min, one.max});
  comm.allreduce(std::span<double>(ends), mpi::Reduction::max);
  for (std::size_t i = 0; i < extents.size(); ++i) extents[i] = {0.0 - ends[2 * i], ends[2 * i + 1] + 0.0};
}

/// *Collective.* Of `count` quantities of the complete rows of the job: `measure(begin, end, extents)` adds
/// those of a run of rows.
template <class Measure>
[[nodiscard]] std::vector<Extent> extents_of_runs(const Workers& workers, const Frame& frame,
                                                  std::size_t count, const Measure& measure) {
  std::vector<std::vector<Extent>> of_threads(base::at(workers.team.size()), std::vector<Extent>(count));
  for_each_run(workers, frame, [&](int thread, std::size_t begin, std::size_t end) {
    std::vector<Extent> here(count);
    for_each_complete_run(frame, begin, end, [&](std::size_t first, std::size_t last) {
      measure(first, last, std::span(here));
    });
    for (std::size_t i = 0; i < count; ++i) of_threads[base::at(thread)][i].add(here[i]);
  });
  std::vector<Extent> extents(count);
  for (const std::vector<Extent>& one : of_threads) {
    for (std::size_t i = 0; i < count; ++i) extents[i].add(one[i]);
  }
  unite(workers.comm, extents);
  return extents;
}

/// The same by `measure(row, extents)`, for each row.
template <class Measure>
[[nodiscard]] std::vector<Extent> extents_of(const Workers& workers, const Frame& frame, std::size_t count,
                                             const Measure& measure) {
  return extents_of_runs(workers, frame, count,
                         [&](std::size_t begin, std::size_t end, std::span<Extent> here) {
                           for (std::size_t row = begin; row < end; ++row) measure(row, here);
                         });
}

/// Of all of these. A comparison waits for the one before it with the same least value, so there are several.
[[nodiscard]] inline Extent extent_of(std::span<const double> values) {
  std::array<Extent, 4> lanes;
  std::size_t i = 0;
  for (; i + lanes.size() <= values.size(); i += lanes.size()) {
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) lanes[lane].add(values[i + lane]);
  }
  for (; i < values.size(); ++i) lanes[0].add(values[i]);
  for (std::size_t lane = 1; lane < lanes.size(); ++lane) lanes[0].add(lanes[lane]);
  return lanes[0];
}

/// *Collective.* Of a numeric variable.
[[nodiscard]] inline Extent extent_of(const Workers& workers, const Frame& frame, int variable) {
  const ColumnStorage<double>& column = frame.variables[base::at(variable)].numbers;
  const std::span<const double> numbers = column;
  return extents_of_runs(workers, frame, 1,
                         [&](std::size_t begin, std::size_t end, std::span<Extent> here) {
                           column.prepare_to_read(begin, end);
                           here[0].add(extent_of(numbers.subspan(begin, end - begin)));
                         })
      .front();
}

}  // namespace tessera::gam
