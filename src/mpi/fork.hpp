// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

namespace TESSERA_NAMESPACE::mpi::detail {

/// Marks this process as a rank, so that `is_forked_child` detects its children.
void watch_for_forks();

/// True in a process that was forked from a rank (`watch_for_forks`), directly or through other children.
/// Such a child has none of the rank's threads, and MPI would take its calls for calls of the rank.
[[nodiscard]] bool is_forked_child() noexcept;

/// Number of forks between this process and the ancestor that first called this function or
/// `watch_for_forks`. If the number has grown since an object was constructed, the object's threads exist
/// only in an ancestor.
[[nodiscard]] int forks() noexcept;

}  // namespace TESSERA_NAMESPACE::mpi::detail
