// SPDX-License-Identifier: Apache-2.0
// A program whose session owns MPI, from start to end. With the argument "abort" its last rank ends the job
// while the others wait in a barrier that can never complete; with "single" MPI is already initialised, at a
// level that a session and a job refuse; with "none" there is no MPI, before and after.
#include <tessera/error.hpp>
#include <tessera/job/job.hpp>
#include <tessera/mpi/session.hpp>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

/// Expects that the session refuses.
int borrow_single(int argc, char** argv) {
  int provided = MPI_THREAD_FUNNELED;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &provided);
  int status = EXIT_FAILURE;
  try {
    const tessera::mpi::Session session(argc, argv);
    if (provided > MPI_THREAD_SINGLE) std::printf("this MPI gives more than it was asked for\n");
  } catch (const tessera::Error& error) {
    std::printf("refused: %s\n", error.what());
    status = error.code() == tessera::ErrorCode::usage ? EXIT_SUCCESS : EXIT_FAILURE;
  }
  try {
    const auto world = tessera::mpi::Communicator::duplicate_of(MPI_COMM_WORLD);
    const tessera::Job job(world);
    status = EXIT_FAILURE;
  } catch (const tessera::Error& error) {
    std::printf("no job: %s\n", error.what());
    if (error.code() != tessera::ErrorCode::usage) status = EXIT_FAILURE;
  }
  MPI_Finalize();
  return status;
}

/// Expects that a communicator is refused.
bool refuses_communicator() {
  try {
    (void)tessera::mpi::Communicator::duplicate_of(MPI_COMM_WORLD);
  } catch (const tessera::Error& error) {
    std::printf("refused: %s\n", error.what());
    return error.code() == tessera::ErrorCode::usage;
  }
  return false;
}

/// Before MPI_Init and after MPI_Finalize nothing works, including objects made in between.
int use_no_mpi(int argc, char** argv) {
  if (!refuses_communicator()) return EXIT_FAILURE;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  const auto world = tessera::mpi::Communicator::duplicate_of(MPI_COMM_WORLD);
  MPI_Finalize();
  if (!refuses_communicator()) return EXIT_FAILURE;
  try {
    world.barrier();
  } catch (const tessera::Error& error) {
    std::printf("refused: %s\n", error.what());
    return error.code() == tessera::ErrorCode::usage ? EXIT_SUCCESS : EXIT_FAILURE;
  }
  return EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "none") return use_no_mpi(argc, argv);
  if (argc > 1 && std::string_view(argv[1]) == "single") return borrow_single(argc, argv);
  {
    const tessera::mpi::Session session(argc, argv);
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_FUNNELED) return EXIT_FAILURE;
    const auto& world = session.world();
    if (argc > 1 && std::string_view(argv[1]) == "abort" && world.rank() == world.size() - 1)
      tessera::mpi::abort_job("the last rank gives up", 6);
    world.barrier();
  }
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized == 0) return EXIT_FAILURE;
  try {
    const tessera::mpi::Session second(argc, argv);
    return EXIT_FAILURE;  // MPI cannot start twice
  } catch (const tessera::Error& error) {
    std::printf("session ended: %s\n", error.what());
  }
  return EXIT_SUCCESS;
}
