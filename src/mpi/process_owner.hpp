// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <atomic>

namespace TESSERA_NAMESPACE::mpi::detail {

/// Whether this process has ranks of MPI, or a `Session`.
inline std::atomic<bool> has_ranks_or_session = false;
/// False in another program's process (`watch_exits`), which decides how it ends.
inline std::atomic<bool> exits_watched = true;

/// Whether the process is a rank or has a `Session`, and is not another program's.
[[nodiscard]] inline bool process_is_owned() noexcept {
  return has_ranks_or_session && exits_watched;
}

}  // namespace TESSERA_NAMESPACE::mpi::detail
