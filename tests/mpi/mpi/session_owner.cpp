// SPDX-License-Identifier: Apache-2.0
// A program whose session owns MPI, from start to end. With the argument "abort" its last rank ends the
// job while the others wait in a barrier that can never complete; with "single" MPI is there already, at a
// level that a session cannot work with.
#include <tessera/error.hpp>
#include <tessera/mpi/session.hpp>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

/// The session must refuse.
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
  MPI_Finalize();
  return status;
}

}  // namespace

int main(int argc, char** argv) {
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
