// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <mpi.h>

#include <string_view>

namespace TESSERA_NAMESPACE::mpi::detail {

/// Sets MPI_ERRORS_RETURN on `comm` for its lifetime, in place of the application's error handler, which is
/// fatal by default. Does nothing under MPI_THREAD_MULTIPLE, where another thread could see or change the
/// handler meanwhile.
class ErrorsReturned {
 public:
  explicit ErrorsReturned(MPI_Comm comm);
  ~ErrorsReturned();
  ErrorsReturned(const ErrorsReturned&) = delete;
  ErrorsReturned& operator=(const ErrorsReturned&) = delete;

 private:
  MPI_Comm comm_;
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;  // null: nothing to restore
};

/// Marks the calling thread as inside a collective. Scopes nest only through signal handlers and callbacks.
struct CollectiveScope {
  CollectiveScope() noexcept;
  ~CollectiveScope();
  CollectiveScope(const CollectiveScope&) = delete;
  CollectiveScope& operator=(const CollectiveScope&) = delete;
};

/// Tests the request, of a communicator of `ranks` ranks, and frees it on completion. Throws `Failure`,
/// naming the `kind` of call, if it completes with an error.
[[nodiscard]] bool is_complete(MPI_Request& request, std::string_view kind, int ranks);

}  // namespace TESSERA_NAMESPACE::mpi::detail
