// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/pool.hpp>

#include <cstddef>

namespace tessera::inline TESSERA_ABI {

/// Binds the calling thread near the device. Throws `Error(job_fault)` if that cannot be done.
void bind_this_thread_near(const DeviceInfo& device);

/// Where the pool has a device of this rank, which counts the claimed ones.
[[nodiscard]] std::size_t pool_index_of_claimed(const DevicePool& pool, int device);
/// Its context; opens it if it is not open.
[[nodiscard]] inline DeviceContext& context_of_claimed(DevicePool& pool, int device) {
  return pool.context_at(pool_index_of_claimed(pool, device));
}

/// Waits for the stream of a device whose function failed: what it began must not write later on.
void drain(const DeviceContext& context) noexcept;

}  // namespace tessera::inline TESSERA_ABI
