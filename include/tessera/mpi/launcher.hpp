// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

namespace TESSERA_NAMESPACE::mpi {

/// The rank of this process by its launcher's environment, which is there before MPI starts; -1 without a
/// launcher, or if it does not tell. Of a program that answers `--version` once, without MPI:
///
///     if (tessera::mpi::launched_rank() <= 0) std::puts("squares 1.0");
///
/// Any thread.
[[nodiscard]] TESSERA_EXPORT int launched_rank() noexcept;

}  // namespace TESSERA_NAMESPACE::mpi
