// SPDX-License-Identifier: Apache-2.0
// For builds without MPI: every session is serial.
#include "mpi/communicator_access.hpp"

#include <tessera/error.hpp>
#include <tessera/mpi/library.hpp>
#include <tessera/mpi/session.hpp>

namespace TESSERA_NAMESPACE::mpi {

struct Session::Mpi {};

Session::Session(int& /*argc*/, char**& /*argv*/, Runtime runtime)
    : world_(detail::CommunicatorAccess::serial_of_program()) {
  if (runtime == Runtime::mpi)
    throw Error(ErrorCode::usage,
                "this build has no MPI, but a launcher started several ranks: start the program without "
                "mpirun or srun, or configure with -DTESSERA_ENABLE_MPI=ON");
}
Session::~Session() = default;

LibraryInfo library_info() {
  return {"none", {}, false};
}

}  // namespace TESSERA_NAMESPACE::mpi
