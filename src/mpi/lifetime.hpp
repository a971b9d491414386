// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <mpi.h>

namespace TESSERA_NAMESPACE::mpi::detail {

/// True after MPI_Init by any library, and still after MPI_Finalize. Thread-safe.
[[nodiscard]] inline bool is_initialised() noexcept {
  int initialised = 0;
  MPI_Initialized(&initialised);
  return initialised != 0;
}

/// Thread-safe.
[[nodiscard]] inline bool is_finalised() noexcept {
  int finalised = 0;
  MPI_Finalized(&finalised);
  return finalised != 0;
}

}  // namespace TESSERA_NAMESPACE::mpi::detail
