// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <atomic>

namespace TESSERA_NAMESPACE::mpi::detail {

/// Whether this process has ranks of MPI, or a `Session`: it is a program's, not that of a host which has
/// serial communicators alone.
inline std::atomic<bool> process_is_owned = false;

}  // namespace TESSERA_NAMESPACE::mpi::detail
