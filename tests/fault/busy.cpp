// SPDX-License-Identifier: Apache-2.0
// busy WORK: rank 1 computes for longer than the others wait for it, and is alive:
//   hosts    in a host function of a pass
//   devices  in the function of a simulated device
//   alone    in Job::run_alive, while the others wait for a broadcast
//   asked    between passes, calling Communicator::alive
//   half     in a pass of a job on the odd ranks, while the others wait for all
//   silent   in a host function, and is stopped there (SIGSTOP)
//   claim    rank 0 waits for a claim of GPUs that does not end, and reports it after ten seconds
#include "mpi/watchdog.hpp"
#include "topology/claim/device_locks.hpp"

#include <tessera/tessera.hpp>

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <thread>

namespace {

using namespace tessera;
using namespace std::chrono_literals;

constexpr auto timeout = 300ms;
constexpr auto longer = timeout + 2 * mpi::detail::Watchdog::grace;

JobOptions options_for(const std::string& work) {
  JobOptions options;
  options.policy = work == "devices" ? Policy::gpu : work == "claim" ? Policy::automatic : Policy::cpu;
  options.threads = 1;
  options.collective_timeout = timeout;
  return options;
}

/// One pass, in which rank `busy` of the job works for longer than the others wait.
void pass(Job& job, int busy, const std::string& work) {
  (void)job.reduce(
      job.plan(job.comm().size()), 1,
      [](Tile& tile, ReproducibleSum&) { tile.fail("devices are simulated"); },
      [&](const HostTile&, std::span<double>) {
        if (job.comm().rank() != busy) return;
        if (work == "silent") (void)std::raise(SIGSTOP);
        std::this_thread::sleep_for(longer);
      });
}

/// A job while rank 0 holds the lock of all claims.
void claim_in_vain(const mpi::Communicator& world) {
  // Used by this mpirun only, and the same on its ranks.
  const auto folder = std::filesystem::temp_directory_path() / ("tessera-busy-" + std::to_string(getppid()));
  setenv("TESSERA_LOCK_DIR", folder.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  std::optional<tessera::detail::ClaimLock> lock;
  if (world.rank() == 0) lock.emplace(tessera::detail::lock_folder());
  const Job job(world, options_for("claim"));
  if (world.rank() == 0) std::cout << job.last_verdict() << std::endl;
  world.barrier();
  lock.reset();
  if (world.rank() == 0) std::filesystem::remove_all(folder);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string work = argc == 2 ? argv[1] : "";
  if (work == "devices" || work == "claim")
    setenv("TESSERA_SIMULATE", "*:T4", 1);  // NOLINT(concurrency-mt-unsafe)
  mpi::Session session(argc, argv);
  const mpi::Communicator& world = session.world();
  const bool busy = world.rank() == 1;
  const auto half = world.split(world.rank() % 2);
  // A late start of a rank is not tested here.
  world.barrier();
  session.set_timeout(timeout);
  if (work == "claim") {
    claim_in_vain(world);
    return 0;
  }
  Job job(work == "half" ? half : world, options_for(work));
  if (work == "alone") {
    if (busy) job.run_alive([] { std::this_thread::sleep_for(longer); });
    (void)job.comm().broadcast_text("the solution", 1);
  } else if (work == "asked") {
    const auto end = std::chrono::steady_clock::now() + longer;
    for (; busy && std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(100ms)) world.alive();
    world.barrier();
  } else if (work == "half") {
    if (world.rank() % 2 == 1) pass(job, 0, work);
    world.barrier();
  } else {
    pass(job, 1, work);
  }
  if (session.is_root()) std::puts("rank 1 was waited for");
  return 0;
}
