// SPDX-License-Identifier: Apache-2.0
// Watchdog: late_end MANNER: rank 1 reaches the end of the program, but rank 0 does not for a long time:
//   silent  it is in a collective of MPI's own, where it cannot reply
//   noticed the same, with time for a line of that before the end
//   alive   it makes collective calls with the last rank, for longer than a silent rank is waited for
#include "mpi/exit_barrier.hpp"

#include <tessera/tessera.hpp>

#include <chrono>
#include <cstdio>
#include <string>

int main(int argc, char** argv) {
  using namespace tessera;
  using namespace std::chrono_literals;
  mpi::Session session(argc, argv);
  if (argc != 2) return exit_status(ErrorCode::usage);
  const bool alive = std::string(argv[1]) == "alive";
  const mpi::Communicator& world = session.world();
  const auto part = world.split(world.rank() == 1 ? 1 : 0);
  mpi::detail::WatchdogTimeouts timeouts{.timeout = 300ms, .notice = 200ms, .only_silence = true};
  if (std::string(argv[1]) == "noticed") timeouts.timeout = 3s;
  {
    mpi::detail::RankGroup group(MPI_COMM_WORLD);
    world.barrier();
    if (!alive && world.rank() == 0) MPI_Barrier(MPI_COMM_WORLD);
    if (alive && world.rank() != 1) {
      const auto longer = 2 * (timeouts.notice + timeouts.timeout + mpi::detail::Watchdog::grace);
      const auto start = std::chrono::steady_clock::now();
      for (bool on = true; on;)
        on = part.allreduce(std::chrono::steady_clock::now() < start + longer ? 1 : 0, mpi::Reduction::max) >
             0;
    }
    group.depart(mpi::detail::ExitPath::normal);
    exit_barrier(group, mpi::detail::ExitPath::normal, timeouts);
    group.all_departed();
  }
  if (session.is_root()) std::puts("all ranks have met");
  return 0;
}
