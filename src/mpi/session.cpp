// SPDX-License-Identifier: Apache-2.0
#include <tessera/error.hpp>
#include <tessera/mpi/session.hpp>

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
  world_ = Communicator();  // while MPI is still there
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (owns_mpi_ && finalized == 0) MPI_Finalize();
}

}  // namespace tessera::mpi
