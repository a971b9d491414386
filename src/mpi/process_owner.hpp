// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <atomic>

namespace TESSERA_NAMESPACE::mpi::detail {

/// Whether this process is an MPI rank or has a `Session`.
inline std::atomic<bool> has_ranks_or_session = false;
/// False if a host program, such as an interpreter, decides how the process ends (`watch_exits`).
inline std::atomic<bool> exits_watched = true;

[[nodiscard]] inline bool process_is_owned() noexcept {
  return has_ranks_or_session && exits_watched;
}

}  // namespace TESSERA_NAMESPACE::mpi::detail
