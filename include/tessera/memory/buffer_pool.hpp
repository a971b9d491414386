// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/held.hpp>
#include <tessera/memory/lease.hpp>
#include <tessera/memory/upstream.hpp>
#include <tessera/version.hpp>

#include <cstddef>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

namespace TESSERA_NAMESPACE {

/// `size` elements of device memory, leased for one stream: a typed `MemoryLease`.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>, "device memory is copied byte by byte");
  static_assert(alignof(T) <= 256, "pools align to 256 bytes");

 public:
  Buffer() = default;
  explicit Buffer(MemoryLease lease) noexcept : lease_(std::move(lease)) {}

  /// A device address: not to be dereferenced on the host.
  [[nodiscard]] T* data() const noexcept { return static_cast<T*>(lease_.data()); }
  [[nodiscard]] std::size_t size() const noexcept { return lease_.size_bytes() / sizeof(T); }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return lease_.size_bytes(); }
  [[nodiscard]] StreamView stream() const noexcept { return lease_.stream(); }
  explicit operator bool() const noexcept { return static_cast<bool>(lease_); }
  /// See `MemoryLease`.
  void record_stream(StreamView other) { lease_.record_stream(other); }
  void reset() noexcept { lease_.reset(); }

 private:
  MemoryLease lease_;
};

/// Limits of the memory that a buffer pool reserves.
struct BufferPoolOptions {
  /// Reserved bytes (in use and cached) are at most (1 + slack) times the high-water mark of bytes in use.
  double slack = 0.05;
  /// Reserved bytes up to this number are never trimmed, whatever the slack.
  std::size_t floor_bytes = std::size_t{32} << 20;
  /// Maximum of reserved bytes; a `take` that would exceed it fails as out of memory.
  std::size_t limit_bytes = std::numeric_limits<std::size_t>::max();
};

/// The initial content of the memory that `take` returns.
enum class Fill {
  none,  ///< uninitialised
  zero,  ///< zeros, written on the stream of the lease
};

/// A caching, stream-ordered allocator of one device's memory.
///
///     BufferPool pool(make_upstream(context));
///     {
///       const auto sums = pool.take<double>(1024, stream, Fill::zero);
///       add_kernel<<<…, static_cast<cudaStream_t>(stream.native())>>>(sums.data());
///     }                                                      // back in the pool while the kernel still runs
///     const auto next = pool.take<double>(1000, stream);     // the same memory, after the kernel
///
/// Sizes are rounded up to size classes: multiples of 512 bytes up to 4 KiB, then eight classes per power of
/// two (at most 12.5 % more than requested), from 1 MiB sixteen (6.25 %), from 64 MiB sixty-four (1.6 %).
/// Blocks are never split or merged. A `take` gets a block of its class, in this order of preference: the
/// block that its stream returned last; a block of another stream whose work is known to be complete; a block
/// of another stream, for whose work the taking stream then waits; a new block from the upstream allocator.
/// The host waits for a stream only when memory has run out.
///
/// Thread-safe, by one lock. Streams must be of the pool's device, and be released (`release_stream`) before
/// they are destroyed. A `take` from the cache makes no CUDA call and costs a fraction of 0.1 us.
class TESSERA_EXPORT BufferPool {
 public:
  /// Throws `Error(usage)` for a negative slack or a null upstream.
  explicit BufferPool(std::unique_ptr<MemoryUpstream> upstream, BufferPoolOptions options = {});
  /// Returns cached memory to the upstream. Leases that are still in use return their memory when they end.
  ~BufferPool();
  BufferPool(BufferPool&&) noexcept;
  BufferPool& operator=(BufferPool&&) noexcept;

  /// Memory for `size` elements, bound to `stream`; null for 0. Throws `Error(usage)` for one of CUDA's
  /// default streams, and `Error(job_fault)` if the upstream fails or memory has run out. Before the pool
  /// reports that memory has run out, it frees its cache, waits for the work of all streams that returned
  /// memory, and tries once more; the message has the bytes requested, in use, cached, free and in total.
  template <class T>
  [[nodiscard]] Buffer<T> take(std::size_t size, StreamView stream, Fill fill = Fill::none) {
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    return Buffer<T>(take_bytes(size > most / sizeof(T) ? most : size * sizeof(T), stream, fill));
  }
  [[nodiscard]] MemoryLease take_bytes(std::size_t bytes, StreamView stream, Fill fill = Fill::none);

  /// Drops all references to a stream that is about to be destroyed, and returns the stream's cached memory
  /// to the upstream. Throws `Error(usage)` if leases are still bound to the stream. Ignores unknown and null
  /// streams. If `record_stream(stream)` was called on leases of other streams, the work of `stream` so far
  /// is recorded now.
  void release_stream(StreamView stream);
  /// Returns all cached memory to the upstream, and lowers the high-water mark, from which the slack is
  /// computed, to the bytes in use. Does not wait, unless the upstream does.
  void empty_cache() noexcept;

  [[nodiscard]] PoolStatistics statistics() const;
  /// Resets the counts to 0, and the high-water marks to the bytes in use and reserved now. Frees nothing.
  void reset_statistics() noexcept;
  /// The device's free and total memory now. Throws `Error(job_fault)`.
  [[nodiscard]] MemoryUpstream::MemoryInfo memory_info() const;

 private:
  struct Closer {
    void operator()(memory::BlockCache* cache) const noexcept;
  };
  detail::Held<std::unique_ptr<memory::BlockCache, Closer>, "BufferPool"> cache_;
};

}  // namespace TESSERA_NAMESPACE
