// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/frame.hpp"

#include <tessera/job/host_team.hpp>
#include <tessera/mpi/communicator.hpp>

#include <cstddef>
#include <cstdint>

namespace tessera::gam {

/// The ranks of a job and the host threads of this one: what goes over rows outside of a pass.
struct Workers {
  const mpi::Communicator& comm;
  HostTeam& team;
};

/// Calls `work(thread, begin, end)` for runs of this rank's rows, on the threads of the team. Not collective.
template <class Work>
void for_each_run(const Workers& workers, const Frame& frame, const Work& work) {
  constexpr std::int64_t rows_of_run = 1 << 16;
  workers.team.for_each_block(
      {0, static_cast<std::int64_t>(frame.complete.size())}, rows_of_run, [&](int thread, Range run) {
        work(thread, static_cast<std::size_t>(run.begin), static_cast<std::size_t>(run.end));
      });
}

/// Calls `work(thread, row)` for each complete row of this rank, in the same way.
template <class Work>
void for_each_complete_row(const Workers& workers, const Frame& frame, const Work& work) {
  for_each_run(workers, frame, [&](int thread, std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      if (frame.complete[row] != 0) work(thread, row);
    }
  });
}

}  // namespace tessera::gam
