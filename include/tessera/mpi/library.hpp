// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace TESSERA_NAMESPACE::mpi {

/// The MPI library that this process runs with.
struct LibraryInfo {
  std::string version;            ///< "Open MPI v4.1.4", "MPICH Version: 4.0.2"
  std::string_view thread_level;  ///< "MPI_THREAD_FUNNELED", …; empty before MPI_Init and after MPI_Finalize
  std::optional<bool> gpu_aware;  ///< whether MPI accepts pointers to device memory; empty: unknown
};

/// Thread-safe. Not collective. Tessera itself never gives MPI a pointer to device memory.
[[nodiscard]] TESSERA_EXPORT LibraryInfo library_info();

}  // namespace TESSERA_NAMESPACE::mpi
