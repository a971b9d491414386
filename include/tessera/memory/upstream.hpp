// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/stream.hpp>
#include <tessera/version.hpp>

#include <cstddef>
#include <memory>

namespace tessera::inline TESSERA_ABI {

class DeviceContext;

/// Where a pool's memory comes from, and the few things a pool must be able to ask of streams: one
/// device's memory and events, or, for tests, the host's with streams that do as they are told.
///
/// Memory is stream-ordered: what `allocate` gives may be used by work put on its stream from then on, and
/// `deallocate` may be called while work on its stream still uses the memory. A pool calls the members of
/// one upstream one at a time, from any thread; an implementation need not be thread-safe. Members throw
/// `Error(job_fault)` with the device's reason, unless they say otherwise.
class TESSERA_EXPORT MemoryUpstream {
 public:
  /// What the device has, in use or not.
  struct Figures {
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
  };

  MemoryUpstream() = default;
  virtual ~MemoryUpstream() = default;
  MemoryUpstream(const MemoryUpstream&) = delete;
  MemoryUpstream& operator=(const MemoryUpstream&) = delete;

  /// Memory aligned to 256 bytes, or null if there is not enough; `bytes` is not 0.
  [[nodiscard]] virtual void* allocate(std::size_t bytes, StreamView stream) = 0;
  /// Takes back what `allocate` gave, once the work on `stream` is done with it.
  virtual void deallocate(void* memory, std::size_t bytes, StreamView stream) noexcept = 0;
  /// Gives back to the system what was deallocated and is held only to be allocated again. Best effort.
  virtual void trim() noexcept {}
  [[nodiscard]] virtual Figures figures() const = 0;
  /// Zeros, as work on `stream`.
  virtual void fill_zero(void* memory, std::size_t bytes, StreamView stream) = 0;

  /// Throws `Error(usage)` if memory cannot be bound to this stream. CUDA's default streams cannot: they
  /// order the work of others, or differ from thread to thread. A pool asks once for each stream.
  virtual void check_stream(StreamView) const {}
  [[nodiscard]] virtual EventView create_event() = 0;
  virtual void destroy_event(EventView event) noexcept = 0;
  /// The event is from now on the end of all work on `stream`.
  virtual void record(EventView event, StreamView stream) = 0;
  /// Whether that work is complete. Does not block.
  [[nodiscard]] virtual bool ready(EventView event) = 0;
  /// What is put on `stream` from now on runs after the event as it is recorded now. Does not block.
  virtual void hold(StreamView stream, EventView event) = 0;
  /// Waits for the event. Pools call it only when memory has run out.
  virtual void synchronize(EventView event) = 0;
};

/// The ways to get memory from a real device.
enum class UpstreamKind {
  cuda_malloc_async,  ///< cudaMallocAsync from a memory pool of its own: nothing waits
  cuda_malloc,        ///< cudaMalloc: giving memory back waits for the stream, and may wait for the device
};

/// Memory of the device of `context`, whose stream it keeps; the host's for a simulated device,
/// as much as the device is said to have. Makes the context current on the calling thread. A device whose
/// driver has no memory pools gets `cuda_malloc`. Throws `Error(job_fault)`.
[[nodiscard]] TESSERA_EXPORT std::unique_ptr<MemoryUpstream> make_upstream(
    const DeviceContext& context, UpstreamKind kind = UpstreamKind::cuda_malloc_async);

/// Host memory, at most `capacity_bytes` at once. Its streams may be null; all work counts as complete when
/// the call that puts it there returns.
[[nodiscard]] TESSERA_EXPORT std::unique_ptr<MemoryUpstream> make_host_upstream(std::size_t capacity_bytes);

}  // namespace tessera::inline TESSERA_ABI
