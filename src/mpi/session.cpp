// SPDX-License-Identifier: Apache-2.0
#include <tessera/error.hpp>
#include <tessera/mpi/session.hpp>

#include <cstdio>
#include <exception>

namespace tessera::mpi {
namespace {

/// Initialises MPI unless it is; returns whether it did.
bool initialise(int& argc, char**& argv) {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0)
    throw Error(ErrorCode::usage, "MPI has been finalised and cannot start again: make one Session, in main");
  int initialized = 0;
  MPI_Initialized(&initialized);
  int provided = MPI_THREAD_SINGLE;
  if (initialized != 0) {
    MPI_Query_thread(&provided);
    if (provided < MPI_THREAD_FUNNELED)
      throw Error(
          ErrorCode::usage,
          "MPI is initialised without threads: call MPI_Init_thread with MPI_THREAD_FUNNELED or more, "
          "or leave MPI to the Session");
    return false;
  }
  if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
    throw Error(ErrorCode::job_fault, "MPI_Init_thread failed: check that mpirun and the MPI library agree");
  if (provided < MPI_THREAD_FUNNELED) {
    MPI_Finalize();
    throw Error(ErrorCode::job_fault,
                "this MPI library does not support threads (MPI_THREAD_FUNNELED): use one built with them");
  }
  return true;
}

}  // namespace

Session::Session(int& argc, char**& argv)
    : owns_mpi_(initialise(argc, argv)), world_(Communicator::duplicate_of(MPI_COMM_WORLD)) {}

Session::~Session() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  const bool ends_mpi = owns_mpi_ && finalized == 0;
  if (ends_mpi) {
    // MPI_Finalize waits for every rank, and for ever.
    try {
      const Purpose purpose(world_, "the end of the program");
      world_.barrier();
    } catch (const std::exception& fault) {
      std::fprintf(stderr, "tessera: at the end of the program: %s\n", fault.what());
    }
  }
  world_ = Communicator();  // while MPI is still there
  if (ends_mpi) MPI_Finalize();
}

}  // namespace tessera::mpi
