// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job/threads/worker_threads.hpp"

#include <tessera/device/pool.hpp>
#include <tessera/function.hpp>

#include <cstddef>
#include <exception>
#include <vector>

namespace TESSERA_NAMESPACE {

/// Binds the calling thread near the device. Throws `Error(job_fault)` if that cannot be done.
void bind_this_thread_near(const DeviceInfo& device);

/// The pool's index of the device with the claim index `device`.
[[nodiscard]] std::size_t pool_index_of_claimed(const DevicePool& pool, int device);
/// The context of that device, opened if necessary.
[[nodiscard]] inline DeviceContext& context_of_claimed(DevicePool& pool, int device) {
  return pool.context_at(pool_index_of_claimed(pool, device));
}

/// Copies between or within host memory and the memory of the current device, on the context's stream; a
/// simulated device has host memory. Throws `Error(job_fault)`.
void copy_async(const DeviceContext& context, void* to, const void* from, std::size_t bytes);

/// The failure of each device of this rank, or null.
using Thrown = std::vector<std::exception_ptr>;

/// Runs `work` for every device whose `thrown` is null, each on its own thread. The calling thread runs the
/// progress callback until all are done.
void for_each_device(WorkerThreads& threads, Thrown& thrown, FunctionRef<void(std::size_t)> work,
                     FunctionRef<void()> progress);

/// Waits for the stream of a device whose function failed, so that submitted work does not write later.
void drain(const DeviceContext& context, StreamView stream) noexcept;

}  // namespace TESSERA_NAMESPACE
