// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

namespace TESSERA_NAMESPACE::mpi::detail {

/// From now on `is_forked_child` detects children of this process. Cost after the first call: none.
void watch_for_forks();

/// True in a process that descends by `fork` from one that called `watch_for_forks`. It has the memory of a
/// rank, but none of its threads, and is not part of the job: MPI would take its calls, collectives above
/// all, for the rank's.
[[nodiscard]] bool is_forked_child() noexcept;

}  // namespace TESSERA_NAMESPACE::mpi::detail
