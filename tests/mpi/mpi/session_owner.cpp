// SPDX-License-Identifier: Apache-2.0
// A program whose session owns MPI, from start to end. With the argument "abort" its last rank ends the
// job while the others wait in a barrier that can never complete.
#include <tessera/error.hpp>
#include <tessera/mpi/session.hpp>

#include <cstdio>
#include <cstdlib>
#include <string_view>

int main(int argc, char** argv) {
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
