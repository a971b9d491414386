// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/error.hpp>

namespace TESSERA_NAMESPACE::mpi::detail {

/// Error: the calling thread must not make this call.
class WrongThread : public Error {
 public:
  WrongThread();
};

/// Number of `WrongThread` errors thrown on the calling thread.
[[nodiscard]] int& wrong_calls() noexcept;

/// Error: the call was made in a forked child, which is not a rank.
class ForkedChild : public Error {
 public:
  ForkedChild();
};

/// Throws `Failure` with MPI's own message unless `code` is MPI_SUCCESS. Defined in mpi_communicator.cpp.
void check(int code, const char* call);

/// The text of an `Error(usage)` for a call after MPI_Finalize.
extern const char* const mpi_is_over;

/// Whether a collective of the calling thread is in progress: true in its signal handlers and callbacks only.
[[nodiscard]] bool is_in_a_collective() noexcept;

}  // namespace TESSERA_NAMESPACE::mpi::detail
