// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/at.hpp"
#include "gam/table/frame.hpp"

#include <tessera/mpi/communicator.hpp>

#include <algorithm>
#include <cmath>
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
  [[nodiscard]] bool empty() const { return min > max; }
  /// The same but for the rounding of values as large as `size`.
  [[nodiscard]] bool constant(double size) const {
    return max - min <= 4 * std::numeric_limits<double>::epsilon() * size;
  }
  [[nodiscard]] double size() const { return std::max(std::abs(min), std::abs(max)); }
};

/// *Collective.* Makes each the extent of the values of all ranks.
inline void unite(const mpi::Communicator& comm, std::span<Extent> extents) {
  std::vector<double> ends;
  for (const Extent& one : extents) ends.insert(ends.end(), {-one.min, one.max});
  comm.allreduce(std::span<double>(ends), mpi::Reduction::max);
  for (std::size_t i = 0; i < extents.size(); ++i) extents[i] = {-ends[2 * i], ends[2 * i + 1]};
}

/// *Collective.* Of a numeric variable, over the complete rows of the job.
[[nodiscard]] inline Extent extent_of(const mpi::Communicator& comm, const Frame& frame, int variable) {
  const auto& numbers = frame.variables[base::at(variable)].numbers;
  Extent extent;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (frame.complete[i] != 0) extent.add(numbers[i]);
  }
  unite(comm, {&extent, 1});
  return extent;
}

}  // namespace tessera::gam
