// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/error.hpp>

namespace TESSERA_NAMESPACE::mpi::detail {

/// Thrown for a collective call on a thread other than the main one.
class WrongThread : public Error {
 public:
  WrongThread();
};

/// Number of `WrongThread` errors thrown on the calling thread.
[[nodiscard]] int& wrong_calls() noexcept;

/// Thrown for a call in a forked child, which is not a rank.
class ForkedChild : public Error {
 public:
  ForkedChild();
};

/// Throws `Failure` with MPI's error string unless `code` is MPI_SUCCESS.
void check(int code, const char* call);

/// Message of an `Error(usage)` for a call after MPI_Finalize.
extern const char* const mpi_is_over;

/// Whether the calling thread is inside a collective: true only in signal handlers and callbacks.
[[nodiscard]] bool is_in_a_collective() noexcept;

}  // namespace TESSERA_NAMESPACE::mpi::detail
