// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/memory/lease.hpp>
#include <tessera/memory/upstream.hpp>
#include <tessera/version.hpp>

#include <cstddef>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

namespace tessera::inline TESSERA_ABI {

/// `size` elements of device memory, borrowed by one stream: a `MemoryLease` with a type.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>, "device memory is copied byte by byte");
  static_assert(alignof(T) <= 256, "pools align to 256 bytes");

 public:
  Buffer() = default;
  explicit Buffer(MemoryLease lease) noexcept : lease_(std::move(lease)) {}

  /// A device address: the host must not read it.
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

/// How much a buffer pool reserves and keeps.
struct BufferPoolOptions {
  /// Bytes reserved (in use and cached) stay within (1 + slack) x the high-water mark of bytes in use.
  double slack = 0.05;
  /// Below this many reserved bytes the slack does not matter: a small cache is not worth trimming.
  std::size_t floor_bytes = std::size_t{32} << 20;
  /// More than this is never reserved; a take that would need more is out of memory.
  std::size_t limit_bytes = std::numeric_limits<std::size_t>::max();
};

/// What is in the memory that a take gives.
enum class Fill {
  none,  ///< whatever was there
  zero,  ///< zeros, written on the take's stream
};

/// Device memory that is reused: a cache over one device's upstream.
///
///     BufferPool pool(make_upstream(context));
///     {
///       const auto sums = pool.take<double>(1024, stream, Fill::zero);
///       add_kernel<<<…, static_cast<cudaStream_t>(stream.native())>>>(sums.data());
///     }                                                      // back in the pool, the kernel still runs
///     const auto next = pool.take<double>(1000, stream);     // the same memory, after the kernel
///
/// Sizes are rounded up to classes: multiples of 512 bytes to 4 KiB, then eight classes a power of two (at
/// most 12.5 % more than was asked for), from 1 MiB sixteen (6.25 %). A block is never split or merged. A
/// take is served, in this order, by the block of its class that its stream returned last; by a block of
/// another stream whose work is known to be complete; by a block of another stream, for whose work the
/// taking stream is made to wait; by upstream. The host never waits for a stream, but when memory has run
/// out.
///
/// Thread-safe; threads that share one pool take turns. Streams must be of the pool's device, and one that
/// is to be destroyed is released first. A hit takes a fraction of 0.1 us and calls nothing of CUDA's.
class TESSERA_EXPORT BufferPool {
 public:
  explicit BufferPool(std::unique_ptr<MemoryUpstream> upstream, BufferPoolOptions options = {});
  /// Gives cached memory back upstream. Leases that are still out do so when they are returned.
  ~BufferPool();
  BufferPool(BufferPool&&) noexcept;
  BufferPool& operator=(BufferPool&&) noexcept;

  /// Memory for `size` elements, bound to `stream`; nothing for 0. Throws `Error(usage)` for one of CUDA's
  /// default streams and `Error(job_fault)` if upstream fails or memory has run out: then the cache is
  /// freed, the work of all streams that returned memory is waited for, and upstream is asked once more;
  /// the message has the bytes requested, in use, cached, free and in total.
  template <class T>
  [[nodiscard]] Buffer<T> take(std::size_t size, StreamView stream, Fill fill = Fill::none) {
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    return Buffer<T>(take_bytes(size > most / sizeof(T) ? most : size * sizeof(T), stream, fill));
  }
  [[nodiscard]] MemoryLease take_bytes(std::size_t bytes, StreamView stream, Fill fill = Fill::none);

  /// Forgets a stream, before it is destroyed; its cached memory goes back upstream. Throws `Error(usage)` if
  /// leases are still bound to it. An unknown stream is ignored. Memory of other leases that was used
  /// on it waits for the work that it has been given by now.
  void release_stream(StreamView stream);
  /// Gives all cached memory back upstream, and lowers the mark that the slack is counted from to what is in
  /// use now. Waits for nothing, but with an upstream that does.
  void empty_cache() noexcept;

  [[nodiscard]] PoolStatistics statistics() const;
  /// Counts from 0, and high-water marks from what is in use and reserved now. Frees nothing.
  void reset_stats() noexcept;
  /// What the device has, as upstream says it now. Throws `Error(job_fault)`.
  [[nodiscard]] MemoryUpstream::Figures memory() const;

 private:
  struct Closer {
    void operator()(memory::BlockCache* cache) const noexcept;
  };
  std::unique_ptr<memory::BlockCache, Closer> cache_;
};

}  // namespace tessera::inline TESSERA_ABI
