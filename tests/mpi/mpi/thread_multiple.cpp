// SPDX-License-Identifier: Apache-2.0
// In a program whose threads may all call MPI, the library uses only the main thread, and does not change the
// error handler of MPI_COMM_WORLD, which other threads see.
#include <tessera/error.hpp>
#include <tessera/job/job.hpp>
#include <tessera/mpi/session.hpp>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>

namespace {

int handlers_set = 0;

bool is_refused(const std::function<void()>& call) {
  try {
    call();
  } catch (const tessera::Error& error) {
    std::printf("refused: %s\n", error.what());
    return error.code() == tessera::ErrorCode::usage;
  }
  return false;
}

}  // namespace

// Replaces MPI's own function.
extern "C" int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler) {
  if (comm == MPI_COMM_WORLD) ++handlers_set;
  return PMPI_Comm_set_errhandler(comm, handler);
}

int main(int argc, char** argv) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided < MPI_THREAD_MULTIPLE) {
    std::puts("this MPI gives less than MPI_THREAD_MULTIPLE");
    MPI_Finalize();
    return EXIT_SUCCESS;
  }
  bool well = true;
  {
    const tessera::mpi::Session session(argc, argv);
    const auto& world = session.world();
    std::thread([&] {
      well = is_refused([] { (void)tessera::mpi::Communicator::duplicate_of(MPI_COMM_WORLD); }) &&
             is_refused([&] { const tessera::mpi::Session another(argc, argv); }) &&
             is_refused([&] { const tessera::Job job(world); });
    }).join();
    for (int i = 0; i < 10; ++i) (void)world.allreduce(1.0, tessera::mpi::Reduction::sum);
  }
  if (handlers_set != 0) std::printf("the handler of MPI_COMM_WORLD was set %d times\n", handlers_set);
  well = well && handlers_set == 0;
  MPI_Finalize();
  return well ? EXIT_SUCCESS : EXIT_FAILURE;
}
