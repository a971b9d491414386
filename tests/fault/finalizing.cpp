// SPDX-License-Identifier: Apache-2.0
// finalizing WAY: a program that initialises and finalises MPI itself, without a Session. Rank 1 reaches
// MPI_Finalize, in its WAY, while the others call a verb of a job, which has no timeout:
//   early     with communicator and job still there
//   bare      after it has given up both
//   together  as all other ranks, and nothing is wrong
//   borrowed  as all other ranks, with a session that has not ended
//   uneven    as all other ranks, but after a collective call less, for which nobody waits
#include <tessera/tessera.hpp>

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>

namespace {

using namespace tessera;

double sum(Job& job) {
  return job.reduce(
      job.plan(100), 1, [](Tile& tile, ReproducibleSum&) { tile.fail("the policy is cpu"); },
      [](const HostTile& tile, std::span<double> partial) {
        partial[0] += static_cast<double>(tile.range.size());
      })[0];
}

/// Rank 1 leaves objects behind, or exits, before it reaches MPI_Finalize.
void work(const std::string& way, int argc, char** argv) {
  std::optional<mpi::Session> session;
  if (way == "borrowed") session.emplace(argc, argv);
  const auto world = mpi::Communicator::duplicate_of(MPI_COMM_WORLD);
  const auto again = mpi::Communicator::duplicate_of(MPI_COMM_WORLD);
  const auto pair = world.split(world.rank() / 2);
  JobOptions options;
  options.policy = Policy::cpu;
  options.collective_timeout = std::chrono::milliseconds(0);
  Job job(world, options);
  (void)sum(job);
  if (world.rank() == 1) {
    if (way == "early") MPI_Finalize();
    if (way != "together" && way != "borrowed") return;
  }
  if (way == "uneven") {
    // The root of a broadcast waits for nobody.
    if (pair.size() == 2) (void)pair.broadcast_text("here", 0);
  } else {
    std::printf("rank %d: sum %g\n", world.rank(), sum(job));
  }
  if (way == "borrowed") MPI_Finalize();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return exit_status(ErrorCode::usage);
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  work(argv[1], argc, argv);
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized == 0) MPI_Finalize();
  if (rank == 0) std::puts("MPI is over");
  return 0;
}
