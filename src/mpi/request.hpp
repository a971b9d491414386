// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <mpi.h>

#include <string_view>

namespace TESSERA_NAMESPACE::mpi::detail {

/// RAII: replaces the application's error handler of `comm`, fatal by default, by MPI_ERRORS_RETURN. Does
/// nothing under MPI_THREAD_MULTIPLE, because another thread could use or change the handler.
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

/// RAII: marks the calling thread as inside a collective.
struct CollectiveScope {
  CollectiveScope() noexcept;
  ~CollectiveScope();
  CollectiveScope(const CollectiveScope&) = delete;
  CollectiveScope& operator=(const CollectiveScope&) = delete;
};

/// Whether a request of a communicator of `ranks` ranks is complete; frees a complete request. Throws
/// `Failure` with `kind` if the call failed.
[[nodiscard]] bool is_complete(MPI_Request& request, std::string_view kind, int ranks);

}  // namespace TESSERA_NAMESPACE::mpi::detail
