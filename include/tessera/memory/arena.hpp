// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/held.hpp>
#include <tessera/memory/buffer_pool.hpp>
#include <tessera/version.hpp>

#include <cstddef>
#include <limits>
#include <type_traits>
#include <vector>

namespace TESSERA_NAMESPACE {

/// A bump allocator of device memory, for the many small buffers of one call: allocations are freed together,
/// by `reset`.
///
///     Arena arena(pool, stream);
///     for (…) {                                    // one tile after another
///       arena.reset();
///       auto* weights = arena.take<double>(rows);  // no CUDA call, no lock
///       auto* offsets = arena.take<int>(blocks);
///     }
///
/// The arena leases slabs from a pool. A new slab is as large as all earlier slabs together, but at most
/// 64 MiB, and at least as large as the request. If the pool cannot provide a slab of this size, the slab has
/// just the size of the request. A `reset` of several slabs returns them to the pool; the next `take` leases
/// one slab for everything that they held.
///
/// The memory is for work on the arena's stream: reuse after a reset is ordered by that stream, without a
/// wait. The caller must order work on other streams before the reset. Not thread-safe. The pool must outlive
/// the arena.
class TESSERA_EXPORT Arena {
 public:
  static constexpr std::size_t default_alignment = 256;

  /// The first slab has `slab_bytes`; it is leased at the first `take`.
  Arena(BufferPool& pool, StreamView stream, std::size_t slab_bytes = std::size_t{1} << 20) noexcept
      : pool_(&pool), stream_(stream), next_bytes_(slab_bytes) {}

  /// Uninitialised memory, valid until the next reset; null for 0 bytes. Throws `Error(usage)` if
  /// `alignment` is not a power of two, and the errors of `BufferPool::take`. After an exception earlier
  /// allocations stay valid.
  [[nodiscard]] void* take_bytes(std::size_t bytes, std::size_t alignment = default_alignment);
  /// Memory for `size` elements.
  template <class T>
  [[nodiscard]] T* take(std::size_t size) {
    static_assert(std::is_trivially_copyable_v<T>, "device memory is copied byte by byte");
    static_assert(alignof(T) <= default_alignment);
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    return static_cast<T*>(take_bytes(size > most / sizeof(T) ? most : size * sizeof(T)));
  }
  /// Frees all allocations. Does not wait.
  void reset() noexcept;

  [[nodiscard]] StreamView stream() const noexcept { return stream_; }
  /// Bytes allocated since the reset, padding included.
  [[nodiscard]] std::size_t used_bytes() const noexcept { return pool_ ? used_before_ + used_ : 0; }
  /// Bytes leased from the pool.
  [[nodiscard]] std::size_t capacity_bytes() const noexcept;
  [[nodiscard]] std::size_t slabs() const noexcept { return slabs_.size(); }

 private:
  /// A slab of max(`next_bytes_`, `needed`) bytes, or of `needed` bytes if the pool cannot provide more.
  [[nodiscard]] MemoryLease take_slab(BufferPool& pool, std::size_t needed) const;

  detail::Held<BufferPool*, "Arena"> pool_;
  StreamView stream_;
  std::size_t next_bytes_;  ///< minimum size of the next slab
  std::vector<MemoryLease> slabs_;
  std::size_t used_ = 0;         ///< bytes used in the last slab
  std::size_t used_before_ = 0;  ///< bytes used in all slabs before the last
};

}  // namespace TESSERA_NAMESPACE
