// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

namespace TESSERA_NAMESPACE::mpi::detail {

/// From now on this process is a rank, and `is_forked_child` detects its children. Cost after the first call:
/// none.
void watch_for_forks();

/// True in a process that descends by `fork` from one that called `watch_for_forks`. It has the memory of a
/// rank, but none of its threads, and is not part of the job: MPI would mistake its calls for the rank's.
[[nodiscard]] bool is_forked_child() noexcept;

/// The number of forks between this process and an ancestor, counted from the first call of either function.
/// An object made when the number was smaller has its threads in an ancestor.
[[nodiscard]] int forks() noexcept;

}  // namespace TESSERA_NAMESPACE::mpi::detail
