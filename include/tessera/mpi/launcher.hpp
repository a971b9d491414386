// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

namespace TESSERA_NAMESPACE::mpi {

/// The rank of this process according to the environment variables of its launcher, also before MPI_Init; -1
/// without a launcher, or if the variables do not contain the rank. A program of many ranks can thus answer
/// `--version` once, without MPI:
///
///     if (tessera::mpi::launched_rank() <= 0) std::puts("squares 1.0");
///
/// Any thread.
[[nodiscard]] TESSERA_EXPORT int launched_rank() noexcept;

}  // namespace TESSERA_NAMESPACE::mpi
