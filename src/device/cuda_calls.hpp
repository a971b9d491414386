// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/module.hpp>
#include <tessera/device/stream.hpp>
#include <tessera/topology/device_info.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

/// The CUDA functions that `src/device` uses, without CUDA's types. Implemented in `cuda_calls.cpp`, or
/// `no_cuda_calls.cpp` in builds without CUDA. All that are not noexcept throw `Error(job_fault)` with the
/// name of the call and the runtime's reason. Thread-safe.
namespace tessera::cuda {

/// The device's CUDA index in this process. Initialises CUDA, but creates no context. The runtime may not
/// report the UUID of a MIG instance: the instance is device 0 if CUDA_VISIBLE_DEVICES named only it when
/// CUDA was initialised. See `topology/driver/visible_devices.hpp`.
[[nodiscard]] Ordinal find_ordinal(const Uuid& uuid);

/// Makes the device's primary context current on this thread, and creates the context if necessary.
void bind(Ordinal ordinal);

/// Throws if another device is current on this thread.
void check_current(Ordinal ordinal);

/// The properties that NVML does not report: L2, shared memory per block, threads per multiprocessor.
void fill_properties(Ordinal ordinal, DeviceInfo& info);

/// Runs `work` with the device current on this thread, and restores the previous context, or none. For
/// destructors: without a current context the runtime would create one on the first device, which another
/// rank may have claimed. Does nothing if CUDA no longer works; ignores exceptions of `work`.
void on_device(Ordinal ordinal, const std::function<void()>& work) noexcept;

/// A non-blocking stream of the current context.
[[nodiscard]] StreamView create_stream();
/// Does not wait, and does not change this thread's current context. Ignores errors, because every call fails
/// after a device fault, which `synchronize` reports.
void destroy_stream(StreamView stream, Ordinal ordinal) noexcept;

/// Waits for the stream, and checks for launches that failed unchecked on this thread.
void synchronize(StreamView stream);

/// An event of the current context, without timing.
[[nodiscard]] EventView create_event();
/// Does not wait, and ignores errors, like `destroy_stream`.
void destroy_event(EventView event, Ordinal ordinal) noexcept;
/// Makes the event represent all work that was submitted to the stream so far.
void record(EventView event, StreamView stream);
/// Whether the recorded work is complete; true for an event that was never recorded.
[[nodiscard]] bool ready(EventView event);
/// Work submitted to the stream after this call waits for the recorded work.
void make_wait(StreamView stream, EventView event);
void synchronize(EventView event);

/// Pins existing host memory, for all devices of this process.
void pin(void* memory, std::size_t bytes);
/// Ignores errors, like `destroy_stream`. `ordinal`: the device that was current when the memory was pinned.
void unpin(void* memory, Ordinal ordinal) noexcept;

/// Does not change this thread's current context.
[[nodiscard]] std::int64_t free_memory_bytes(Ordinal ordinal);

/// Loads machine code, or zero-terminated PTX, for all devices of the process; on the current device the
/// image is loaded immediately. The driver copies the image.
[[nodiscard]] void* load_library(const char* image);
/// Ignores errors, like `destroy_stream`.
void unload_library(void* library) noexcept;
[[nodiscard]] KernelView kernel_of(void* library, const char* name);
/// Launches on the current device, asynchronously.
void launch(KernelView kernel, Extent grid, Extent block, std::size_t shared_bytes, StreamView stream,
            void** arguments);

/// A guard whose destructor restores this thread's current context, or the state without one.
[[nodiscard]] std::shared_ptr<void> keep_current();
/// Copies from or to the current device's memory, on the stream. Blocks only if one side is pageable host
/// memory.
void copy(void* to, const void* from, std::size_t bytes, StreamView stream);
/// Whether all work on a stream, of any device, is complete.
[[nodiscard]] bool is_done(StreamView stream);

}  // namespace tessera::cuda
