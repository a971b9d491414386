// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <string>

namespace TESSERA_NAMESPACE::detail {

/// Binds the calling thread to `cpuset` (CPUs as an hwloc list, "0-15,32-47") and reads the binding back.
///
/// The thread is bound to the CPUs of `cpuset` that are in the affinity of the main thread, which the batch
/// system has set. If there are none, the thread is bound to the main thread's affinity. Returns false if the
/// list is invalid or the binding failed. An empty `cpuset` binds nothing and returns true.
bool bind_thread_near(const std::string& cpuset);

}  // namespace TESSERA_NAMESPACE::detail
