// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/at.hpp"
#include "gam/data/frame/frame.hpp"
#include "gam/data/frame/number_scan.hpp"
#include "gam/data/frame/workers.hpp"

#include <tessera/mpi/communicator.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// *Collective.* Unites the extents of all ranks. -0 becomes +0, so that the order of ranks has no effect.
inline void unite(const mpi::Communicator& comm, std::span<Extent> extents) {
  std::vector<double> ends;
  for (const Extent& one : extents) ends.insert(ends.end(), {-one.min, one.max});
  comm.allreduce(std::span<double>(ends), mpi::Reduction::max);
  for (std::size_t i = 0; i < extents.size(); ++i) extents[i] = {0.0 - ends[2 * i], ends[2 * i + 1] + 0.0};
}

/// *Collective.* The extents of `count` quantities over the complete rows of the job: `measure(begin, end,
/// extents)` adds a run of rows to `extents`.
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

/// Like `extents_of_runs`, with `measure(row, extents)` for each row.
template <class Measure>
[[nodiscard]] std::vector<Extent> extents_of(const Workers& workers, const Frame& frame, std::size_t count,
                                             const Measure& measure) {
  return extents_of_runs(workers, frame, count,
                         [&](std::size_t begin, std::size_t end, std::span<Extent> here) {
                           for (std::size_t row = begin; row < end; ++row) measure(row, here);
                         });
}

/// *Collective.* The extent of a numeric variable over complete rows; no scan if the frame has `extents`.
[[nodiscard]] inline Extent extent_of(const Workers& workers, const Frame& frame, int variable) {
  if (const std::vector<Extent>& known = frame.extents; !known.empty()) {
    std::array<Extent, 1> extent{known[base::at(variable)]};
    unite(workers.comm, extent);
    return extent[0];
  }
  const ColumnNumbers& column = frame.variables[base::at(variable)].numbers;
  return extents_of_runs(workers, frame, 1,
                         [&](std::size_t begin, std::size_t end, std::span<Extent> here) {
                           column.prepare_to_read(begin, end);
                           column.for_each_piece(begin, end, [&](std::span<const double> numbers) {
                             here[0].add(scan(numbers).extent);
                           });
                         })
      .front();
}

}  // namespace TESSERA_NAMESPACE::gam
