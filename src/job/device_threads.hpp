// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/context.hpp>
#include <tessera/error.hpp>

#include <cstddef>
#include <string>
#include <thread>
#include <vector>

namespace tessera {

/// Calls `work(i)` for each i below `count`, each on a thread of its own, and waits. `work` must not throw.
template <class Work>
void on_threads(std::size_t count, const Work& work) {
  std::vector<std::jthread> threads;
  threads.reserve(count);
  for (std::size_t i = 0; i < count; ++i) threads.emplace_back([&work, i] { work(i); });
}

/// Binds the calling thread near the device. Throws `Error(job_fault)` if that cannot be done.
inline void bind_this_thread_near(const DeviceInfo& device) {
  if (!bind_thread_near(device.near_cpuset))
    throw Error(ErrorCode::job_fault,
                "the thread cannot be bound to the cores near the device (" + device.near_cpuset + ")");
}

/// Waits for the stream of a device whose function failed: what it began must not write later on.
inline void drain(const DeviceContext& context) noexcept {
  try {
    context.synchronize();
  } catch (const Error&) {
    // The device has failed already, for the reason that counts.
  }
}

}  // namespace tessera
