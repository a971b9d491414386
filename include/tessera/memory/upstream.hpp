// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/stream.hpp>
#include <tessera/version.hpp>

#include <cstddef>
#include <memory>

namespace TESSERA_NAMESPACE {

class DeviceContext;

/// The allocator behind a memory pool, with the stream operations that a pool needs. It allocates memory and
/// events of one device or, in tests, of a fake device.
///
/// Allocation is stream-ordered: work that is submitted to the stream after `allocate` may use the memory,
/// and `deallocate` may be called while work on the stream still uses the memory. A pool serialises its
/// calls, which come from any thread; an implementation need not be thread-safe. Members throw
/// `Error(job_fault)` with the device's reason, unless stated otherwise.
class TESSERA_EXPORT MemoryUpstream {
 public:
  /// The device's memory, as cudaMemGetInfo reports it.
  struct MemoryInfo {
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
  };

  MemoryUpstream() = default;
  virtual ~MemoryUpstream() = default;
  MemoryUpstream(const MemoryUpstream&) = delete;
  MemoryUpstream& operator=(const MemoryUpstream&) = delete;

  /// Allocates memory aligned to 256 bytes; null if memory has run out. `bytes` must not be 0.
  [[nodiscard]] virtual void* allocate(std::size_t bytes, StreamView stream) = 0;
  /// Frees memory of `allocate` after the work on `stream`.
  virtual void deallocate(void* memory, std::size_t bytes, StreamView stream) noexcept = 0;
  /// Returns to the system the deallocated memory that the upstream caches. Best effort.
  virtual void trim() noexcept {}
  [[nodiscard]] virtual MemoryInfo memory_info() const = 0;
  /// Sets the memory to zero, on `stream`.
  virtual void fill_zero(void* memory, std::size_t bytes, StreamView stream) = 0;

  /// Throws `Error(usage)` if memory cannot be bound to this stream. CUDA's default streams cannot be used:
  /// they synchronise with other streams, or differ between threads. Called once for each stream.
  virtual void check_stream(StreamView) const {}
  [[nodiscard]] virtual EventView create_event() = 0;
  virtual void destroy_event(EventView event) noexcept = 0;
  /// Records all work that was submitted to `stream` so far.
  virtual void record(EventView event, StreamView stream) = 0;
  /// Whether the recorded work is complete. Does not block.
  [[nodiscard]] virtual bool ready(EventView event) = 0;
  /// Makes work that is submitted to `stream` later wait for the event's last recording. Does not block.
  virtual void make_wait(StreamView stream, EventView event) = 0;
  /// Waits for the event. Called only when memory has run out.
  virtual void synchronize(EventView event) = 0;
};

/// The allocator of a context's device; it keeps the context's streams alive. For a simulated device it
/// allocates host memory, up to the device's specified size. For a GPU it allocates from its own CUDA memory
/// pool by cudaMallocFromPoolAsync, which never blocks. If the driver does not support memory pools, it
/// allocates by cudaMalloc: freeing then waits for the stream, and may wait for the device. This function
/// makes the context current on the calling thread. Throws `Error(job_fault)`.
[[nodiscard]] TESSERA_EXPORT std::unique_ptr<MemoryUpstream> make_upstream(const DeviceContext& context);

/// An allocator of at most `capacity_bytes` of host memory at a time. Streams may be null; all operations are
/// synchronous.
[[nodiscard]] TESSERA_EXPORT std::unique_ptr<MemoryUpstream> make_host_upstream(std::size_t capacity_bytes);

}  // namespace TESSERA_NAMESPACE
