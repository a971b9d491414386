// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/module.hpp>
#include <tessera/device/stream.hpp>
#include <tessera/topology/device_info.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

/// Everything that the device room asks of CUDA, without a CUDA type. `cuda_calls.cpp` answers where
/// CUDA is built, `no_cuda_calls.cpp` refuses where it is not. All of them throw `Error(job_fault)` with
/// the name of the call and the runtime's reason. Thread-safe.
namespace tessera::cuda {

/// The index that the device has in this process now. Initialises CUDA, but makes no context. For a MIG
/// instance that the runtime does not name by its own UUID, the only device there is, if
/// CUDA_VISIBLE_DEVICES named the instance as CUDA started.
[[nodiscard]] Ordinal find_ordinal(const Uuid& uuid);

/// Makes the primary context of the device if it is not there, makes it current on this thread, and
/// checks that it is.
void bind(Ordinal ordinal);

/// Throws if another device is current on this thread.
void check_current(Ordinal ordinal);

/// What NVML does not tell: L2, shared memory a block may ask for, threads a multiprocessor holds.
void fill_properties(Ordinal ordinal, DeviceInfo& info);

/// Does `work` with the device current on this thread, and puts back what was current before, also if that
/// was nothing. For what gives things back: where nothing is current the runtime would make the context of
/// the first device, which may be another rank's. Does nothing where CUDA no longer answers, and what `work`
/// throws is lost.
void on_device(Ordinal ordinal, const std::function<void()>& work) noexcept;

/// A non-blocking stream of the current context.
[[nodiscard]] StreamView create_stream();
/// Waits for nothing. An error is not reported: after a device fault the context has none but errors
/// to give, and `synchronize` has given them. What is current on this thread stays current.
void destroy_stream(StreamView stream, Ordinal ordinal) noexcept;

/// Waits for the stream, and looks for launches that failed on this thread without being noticed.
void synchronize(StreamView stream);

/// An event of the current context that carries no time.
[[nodiscard]] EventView create_event();
/// Waits for nothing and reports no error, as `destroy_stream`.
void destroy_event(EventView event, Ordinal ordinal) noexcept;
/// The event is from now on the end of all work on the stream.
void record(EventView event, StreamView stream);
/// Whether the work before the event is complete; one that was never recorded is.
[[nodiscard]] bool ready(EventView event);
/// Work that is put on the stream from now on runs after the event as it is recorded now.
void hold(StreamView stream, EventView event);
/// Waits for the event.
void synchronize(EventView event);

/// Pins host memory that is there, for all devices of this process.
void pin(void* memory, std::size_t bytes);
/// As `destroy_stream`; the device is the one that was current when it was pinned.
void unpin(void* memory, Ordinal ordinal) noexcept;

/// Free memory of the device. What is current on this thread stays current.
[[nodiscard]] std::int64_t free_memory_bytes(Ordinal ordinal);

/// Machine code, or PTX that ends with a zero, for every device of the process; loaded into the current
/// context at once. The driver copies it.
[[nodiscard]] void* load_library(const char* image);
/// An error is not reported, as with a stream.
void unload_library(void* library) noexcept;
[[nodiscard]] KernelView kernel_of(void* library, const char* name);
/// On the current device. Does not wait.
void launch(KernelView kernel, Extent grid, Extent block, std::size_t shared_bytes, StreamView stream,
            void** arguments);

// What the collectives of a job need.

/// Puts back, when the returned object goes, what is current on this thread now, also if that is nothing.
[[nodiscard]] std::shared_ptr<void> keep_current();
/// Copies from or to the current device's memory, on the stream. Waits only where one side is host memory
/// that is not pinned.
void copy(void* to, const void* from, std::size_t bytes, StreamView stream);
/// True if the stream, of any device, has nothing left to do.
[[nodiscard]] bool is_done(StreamView stream);

}  // namespace tessera::cuda
