// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

namespace TESSERA_NAMESPACE::mpi {

/// The rank of this process from its launcher's environment, which is set before MPI starts; -1 without a
/// launcher, or if the environment does not show the rank. With it a program of many ranks can answer
/// `--version` once, without MPI:
///
///     if (tessera::mpi::launched_rank() <= 0) std::puts("squares 1.0");
///
/// Any thread.
[[nodiscard]] TESSERA_EXPORT int launched_rank() noexcept;

}  // namespace TESSERA_NAMESPACE::mpi
