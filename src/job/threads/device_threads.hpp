// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job/threads/worker_threads.hpp"

#include <tessera/device/pool.hpp>
#include <tessera/function.hpp>

#include <cstddef>
#include <exception>
#include <vector>

namespace TESSERA_NAMESPACE {

/// Binds the calling thread to CPUs near the device. Throws `Error(job_fault)` on failure.
void bind_this_thread_near(const DeviceInfo& device);

/// The index in `pool` of this rank's claimed device `device`.
[[nodiscard]] std::size_t pool_index_of_claimed(const DevicePool& pool, int device);
/// Opens the context on first use.
[[nodiscard]] inline DeviceContext& context_of_claimed(DevicePool& pool, int device) {
  return pool.context_at(pool_index_of_claimed(pool, device));
}

/// Copies between host memory and the current device's memory, or within either, on the context's stream. The
/// memory of a simulated device is host memory. Throws `Error(job_fault)`.
void copy_async(const DeviceContext& context, void* to, const void* from, std::size_t bytes);

/// The exception of each device of this rank; null: none.
using Thrown = std::vector<std::exception_ptr>;

/// Runs `work` on the device's thread, for each device without an exception in `thrown`, and stores
/// exceptions there. The calling thread runs the progress callback until all devices are done.
void for_each_device(WorkerThreads& threads, Thrown& thrown, FunctionRef<void(std::size_t)> work,
                     FunctionRef<void()> progress);

/// Waits for the stream after a function failed, so that submitted work does not write later.
void drain(const DeviceContext& context, StreamView stream) noexcept;

}  // namespace TESSERA_NAMESPACE
