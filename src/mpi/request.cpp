// SPDX-License-Identifier: Apache-2.0
#include "mpi/request.hpp"

#include "mpi/check.hpp"

#include <optional>
#include <string>

namespace TESSERA_NAMESPACE::mpi::detail {
namespace {

thread_local int collectives_entered = 0;

bool several_threads_call_mpi() {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  return level == MPI_THREAD_MULTIPLE;
}

}  // namespace

ErrorsReturned::ErrorsReturned(MPI_Comm comm) : comm_(comm) {
  if (several_threads_call_mpi()) return;
  MPI_Comm_get_errhandler(comm_, &before_);
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
}

ErrorsReturned::~ErrorsReturned() {
  if (before_ == MPI_ERRHANDLER_NULL) return;
  MPI_Comm_set_errhandler(comm_, before_);
  MPI_Errhandler_free(&before_);
}

CollectiveScope::CollectiveScope() noexcept {
  ++collectives_entered;
}
CollectiveScope::~CollectiveScope() {
  --collectives_entered;
}

bool is_in_a_collective() noexcept {
  return collectives_entered > 0;
}

bool is_complete(MPI_Request& request, std::string_view kind, int ranks) {
  int done = 0;
  check(MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE), "MPI_Request_get_status");
  if (done == 0) return false;
  // Open MPI 4 reports errors of a collective's request to the error handler of MPI_COMM_WORLD, not to the
  // communicator's. A single rank sends no message that could fail.
  std::optional<ErrorsReturned> returned;
  if (ranks > 1) returned.emplace(MPI_COMM_WORLD);
  if (const int code = MPI_Test(&request, &done, MPI_STATUS_IGNORE); code != MPI_SUCCESS)
    check(code, std::string(kind).c_str());
  return true;
}

}  // namespace TESSERA_NAMESPACE::mpi::detail
