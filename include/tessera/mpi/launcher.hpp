// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

namespace TESSERA_NAMESPACE::mpi {

/// The rank of this process according to the environment variables of its launcher, also before MPI_Init; -1
/// without a launcher, or if no variable has the rank. A program of many ranks can thus print its version
/// only once, without MPI:
///
///     if (tessera::mpi::launched_rank() <= 0) std::puts("squares 1.0");
///
/// Any thread.
[[nodiscard]] TESSERA_EXPORT int launched_rank() noexcept;

}  // namespace TESSERA_NAMESPACE::mpi
