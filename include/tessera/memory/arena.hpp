// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/memory/buffer_pool.hpp>
#include <tessera/version.hpp>

#include <cstddef>
#include <limits>
#include <type_traits>
#include <vector>

namespace tessera::inline TESSERA_ABI {

/// Device memory for the many small things of one tile: handed out by counting up, given up all at once.
///
///     Arena arena(pool, stream);
///     for (…) {                                    // one tile after another
///       arena.reset();
///       auto* weights = arena.take<double>(rows);  // no call of CUDA's, no lock
///       auto* offsets = arena.take<int>(blocks);
///     }
///
/// It leases a slab from the pool, and further ones when that is full: as large as all before it, up to
/// 64 MiB, unless more is asked for. At a reset several slabs become one that would have held everything, so
/// that from the second tile on there is one. Where the pool has not so much, a slab is no larger than what
/// is asked for. Memory is for work on the arena's stream: what is taken after a reset comes after what was
/// put on that stream before it, and nothing has to be waited for. Work on other streams the caller orders
/// before the reset. One arena is for one thread at a time. The pool must outlive it.
class TESSERA_EXPORT Arena {
 public:
  static constexpr std::size_t default_alignment = 256;

  /// The first slab has `slab_bytes`; it is leased when the first memory is taken.
  Arena(BufferPool& pool, StreamView stream, std::size_t slab_bytes = std::size_t{1} << 20) noexcept
      : pool_(&pool), stream_(stream), next_bytes_(slab_bytes) {}

  /// Uninitialised memory, valid until the next reset; null for 0 bytes. `alignment` is a power of two.
  /// Throws `Error(usage)` for another alignment, and as `BufferPool::take`; what was taken stays valid.
  [[nodiscard]] void* take_bytes(std::size_t bytes, std::size_t alignment = default_alignment);
  /// The same for `size` elements.
  template <class T>
  [[nodiscard]] T* take(std::size_t size) {
    static_assert(std::is_trivially_copyable_v<T>, "device memory is copied byte by byte");
    static_assert(alignof(T) <= default_alignment);
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    return static_cast<T*>(take_bytes(size > most / sizeof(T) ? most : size * sizeof(T)));
  }
  /// Gives up everything that was taken. Waits for nothing.
  void reset() noexcept;

  [[nodiscard]] StreamView stream() const noexcept { return stream_; }
  /// Taken since the reset, with what alignment cost.
  [[nodiscard]] std::size_t used_bytes() const noexcept { return used_before_ + used_; }
  /// Leased from the pool now.
  [[nodiscard]] std::size_t capacity_bytes() const noexcept;
  [[nodiscard]] std::size_t slabs() const noexcept { return slabs_.size(); }

 private:
  /// Of `next_bytes_`, or of what is needed if that is more, or all that can be had.
  [[nodiscard]] MemoryLease take_slab(std::size_t needed);

  BufferPool* pool_;
  StreamView stream_;
  std::size_t next_bytes_;  ///< of the next slab, or more
  std::vector<MemoryLease> slabs_;
  std::size_t used_ = 0;         ///< of the last slab
  std::size_t used_before_ = 0;  ///< of the slabs before it
};

}  // namespace tessera::inline TESSERA_ABI
