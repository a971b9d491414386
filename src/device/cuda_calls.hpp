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
/// `no_cuda_calls.cpp` in builds without CUDA. All throw `Error(job_fault)` with the name of the call and the
/// runtime's reason. Thread-safe.
namespace tessera::cuda {

/// The device's CUDA index in this process. Initialises CUDA, but creates no context. For MIG instances,
/// whose UUID the runtime may not report, the value of CUDA_VISIBLE_DEVICES at CUDA's initialisation decides:
/// if it named the instance, that instance is device 0. See `topology/driver/visible_devices.hpp`.
[[nodiscard]] Ordinal find_ordinal(const Uuid& uuid);

/// Creates the primary context of the device if necessary, makes it current on this thread, and checks that
/// it is.
void bind(Ordinal ordinal);

/// Throws if another device is current on this thread.
void check_current(Ordinal ordinal);

/// The properties that NVML does not report: L2, shared memory per block, threads per multiprocessor.
void fill_properties(Ordinal ordinal, DeviceInfo& info);

/// Runs `work` with the device current on this thread, and restores the previous context, or none. For
/// destructors: without a current context the runtime would create one on the first device, which may be
/// another rank's. Does nothing if CUDA no longer works; exceptions of `work` are dropped.
void on_device(Ordinal ordinal, const std::function<void()>& work) noexcept;

/// A non-blocking stream of the current context.
[[nodiscard]] StreamView create_stream();
/// Does not wait. Ignores errors: after a device fault, which `synchronize` has reported, every call fails.
/// This thread's current context does not change.
void destroy_stream(StreamView stream, Ordinal ordinal) noexcept;

/// Waits for the stream, and checks for launches that failed unchecked on this thread.
void synchronize(StreamView stream);

/// An event of the current context, without timing.
[[nodiscard]] EventView create_event();
/// Does not wait, and ignores errors, like `destroy_stream`.
void destroy_event(EventView event, Ordinal ordinal) noexcept;
/// The event then stands for all work that was submitted to the stream so far.
void record(EventView event, StreamView stream);
/// Whether the recorded work is complete; true for an event that was never recorded.
[[nodiscard]] bool ready(EventView event);
/// Work that is submitted to the stream from now on waits for the recorded work.
void make_wait(StreamView stream, EventView event);
void synchronize(EventView event);

/// Pins existing host memory, for all devices of this process.
void pin(void* memory, std::size_t bytes);
/// Ignores errors, like `destroy_stream`. `ordinal`: the device that was current when the memory was pinned.
void unpin(void* memory, Ordinal ordinal) noexcept;

/// Free memory of the device. This thread's current context does not change.
[[nodiscard]] std::int64_t free_memory_bytes(Ordinal ordinal);

/// Loads machine code, or zero-terminated PTX, for all devices of the process; the current one gets it at
/// once. The driver copies the image.
[[nodiscard]] void* load_library(const char* image);
/// Ignores errors, like `destroy_stream`.
void unload_library(void* library) noexcept;
[[nodiscard]] KernelView kernel_of(void* library, const char* name);
/// Launches on the current device, asynchronously.
void launch(KernelView kernel, Extent grid, Extent block, std::size_t shared_bytes, StreamView stream,
            void** arguments);

// Functions for the collectives of a job.

/// A guard: its destructor makes the present context of this thread, or none, current again.
[[nodiscard]] std::shared_ptr<void> keep_current();
/// Copies from or to the current device's memory, on the stream. Blocks only if one side is pageable host
/// memory.
void copy(void* to, const void* from, std::size_t bytes, StreamView stream);
/// Whether all work on a stream, of any device, is complete.
[[nodiscard]] bool is_done(StreamView stream);

}  // namespace tessera::cuda
