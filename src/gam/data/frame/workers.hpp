// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"

#include <tessera/job/host_team.hpp>
#include <tessera/mpi/communicator.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The ranks of a job, and the host threads of this rank, for scans of the rows outside the passes of a fit.
struct Workers {
  const mpi::Communicator& comm;
  HostTeam& team;
};

/// Not collective. Calls `work(thread, begin, end)` for ranges of this rank's rows, on the team's threads.
template <class Work>
void for_each_run(const Workers& workers, const Frame& frame, const Work& work) {
  constexpr std::int64_t rows_of_run = 1 << 16;
  workers.team.for_each_block(
      {0, static_cast<std::int64_t>(frame.complete.size())}, rows_of_run, [&](int thread, Range run) {
        work(thread, static_cast<std::size_t>(run.begin), static_cast<std::size_t>(run.end));
      });
}

/// *Collective.* Counts over the rows of the job. `work(counts, begin, end)` adds the counts of a range of
/// this rank's rows, on the threads of the team.
template <class Work>
[[nodiscard]] std::vector<std::int64_t> counts_over_rows(const Workers& workers, const Frame& frame,
                                                         std::size_t size, const Work& work) {
  std::vector<std::vector<std::int64_t>> of_threads(static_cast<std::size_t>(workers.team.size()),
                                                    std::vector<std::int64_t>(size));
  for_each_run(workers, frame, [&](int thread, std::size_t begin, std::size_t end) {
    work(std::span(of_threads[static_cast<std::size_t>(thread)]), begin, end);
  });
  std::vector<std::int64_t> counts = std::move(of_threads.front());
  for (std::size_t thread = 1; thread < of_threads.size(); ++thread) {
    for (std::size_t i = 0; i < size; ++i) counts[i] += of_threads[thread][i];
  }
  if (size > 0) workers.comm.allreduce(std::span(counts), mpi::Reduction::sum);
  return counts;
}

/// Calls `work(begin, end)` for each run of complete rows in a range, in order.
template <class Work>
void for_each_complete_run(const Frame& frame, std::size_t begin, std::size_t end, const Work& work) {
  const std::uint8_t* complete = frame.complete.data();
  while (begin < end) {
    const void* gap = std::memchr(complete + begin, 0, end - begin);
    const std::size_t up_to =
        gap == nullptr ? end : static_cast<std::size_t>(static_cast<const std::uint8_t*>(gap) - complete);
    if (begin < up_to) work(begin, up_to);
    begin = up_to + 1;
  }
}

}  // namespace TESSERA_NAMESPACE::gam
