// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <string>

namespace TESSERA_NAMESPACE::detail {

/// Binds the calling thread to `cpuset` (CPUs as an hwloc list, "0-15,32-47") and reads the binding back.
///
/// Only CPUs that the process may use (those of its main thread) are used; if `cpuset` has none of them, the
/// thread is bound to all that the process may use, since the batch system's limits take precedence. Returns
/// false if the list is invalid or the binding failed; an empty `cpuset` binds nothing and returns true.
/// Cost: a few microseconds.
bool bind_thread_near(const std::string& cpuset);

}  // namespace TESSERA_NAMESPACE::detail
