// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <mpi.h>

#include <string_view>

namespace tessera::inline TESSERA_ABI::mpi::detail {

/// While it lives, MPI returns the errors of calls on `comm` instead of handing them to the handler of the
/// application, by which they are fatal at first. Where several threads may call MPI, another could see or
/// change the handler meanwhile: it stays then, and decides.
class ErrorsReturned {
 public:
  explicit ErrorsReturned(MPI_Comm comm);
  ~ErrorsReturned();
  ErrorsReturned(const ErrorsReturned&) = delete;
  ErrorsReturned& operator=(const ErrorsReturned&) = delete;

 private:
  MPI_Comm comm_;
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;  // null: it stays
};

/// Counts the collectives that the calling thread is in: more than one only by a handler or callback.
struct UnderWay {
  UnderWay() noexcept;
  ~UnderWay();
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;
};

/// Whether the request over a communicator of `ranks` ranks is, which is then no more. Throws `Failure`,
/// naming its `kind`, if it completes with an error.
[[nodiscard]] bool is_complete(MPI_Request& request, std::string_view kind, int ranks);

}  // namespace tessera::inline TESSERA_ABI::mpi::detail
