// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <atomic>

namespace TESSERA_NAMESPACE::mpi::detail {

/// Whether this process has ranks of MPI, or a `Session`.
inline std::atomic<bool> has_ranks_or_session = false;
/// False in a host program (`watch_exits`), whose exits are its own.
inline std::atomic<bool> exits_watched = true;

/// Whether this is the process of a program with ranks or a `Session`, and not a host program's.
[[nodiscard]] inline bool process_is_owned() noexcept {
  return has_ranks_or_session && exits_watched;
}

}  // namespace TESSERA_NAMESPACE::mpi::detail
