// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/stream.hpp>
#include <tessera/version.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace TESSERA_NAMESPACE {

namespace memory {
struct Block;
class BlockCache;
}  // namespace memory

/// Memory of a pool, leased for one stream; the destructor returns it. Move-only.
///
/// Work on the lease's stream may use the memory as soon as the lease begins, and may still be running when
/// the lease ends: the host does not wait, and the pool makes other streams that reuse the memory wait for
/// that work. Work on any *other* stream must be ordered after the `take` by the caller, and registered by
/// `record_stream`, or the memory may be reused while that work still runs. A lease is not thread-safe, but
/// may be returned on any thread. A lease may outlive its pool, and, if it is bound to a context's own stream
/// (such as a tile's stream), also the context and the job; a `Stream` must outlive its leases.
class TESSERA_EXPORT MemoryLease {
 public:
  MemoryLease() = default;
  ~MemoryLease() { reset(); }
  MemoryLease(MemoryLease&& other) noexcept
      : block_(std::exchange(other.block_, nullptr)),
        data_(std::exchange(other.data_, nullptr)),
        size_bytes_(std::exchange(other.size_bytes_, 0)) {}
  MemoryLease& operator=(MemoryLease&& other) noexcept {
    MemoryLease taken(std::move(other));
    std::swap(block_, taken.block_);
    std::swap(data_, taken.data_);
    std::swap(size_bytes_, taken.size_bytes_);
    return *this;
  }

  /// Null if nothing is leased (0 bytes requested, returned, or moved from).
  [[nodiscard]] void* data() const noexcept { return data_; }
  /// The requested size. The rest of the pool's block, which may be larger, must not be used.
  [[nodiscard]] std::size_t size_bytes() const noexcept { return size_bytes_; }
  explicit operator bool() const noexcept { return data_ != nullptr; }
  /// The stream that the lease is bound to; null if nothing is leased.
  [[nodiscard]] StreamView stream() const noexcept;

  /// Declares that work on `other` uses the memory too: after the lease is returned, the memory is reused
  /// only after the work that is on `other` *at the return*. Throws `Error(usage)` for a stream that the pool
  /// does not accept. Thread-safe with regard to other leases. Cost: recording an event at the return.
  void record_stream(StreamView other);

  /// Returns the memory now. Does not wait.
  void reset() noexcept {
    if (block_ != nullptr) give_back();
  }

 private:
  friend class memory::BlockCache;
  MemoryLease(memory::Block* block, void* data, std::size_t size_bytes) noexcept
      : block_(block), data_(data), size_bytes_(size_bytes) {}
  void give_back() noexcept;

  memory::Block* block_ = nullptr;
  void* data_ = nullptr;
  std::size_t size_bytes_ = 0;
};

/// A consistent snapshot of a pool's counts and sizes. Bytes include the pool's rounding.
struct PoolStatistics {
  std::uint64_t hits = 0;     ///< calls of `take` served from the cache
  std::uint64_t misses = 0;   ///< calls of `take` served by the upstream allocator
  std::uint64_t returns = 0;  ///< leases returned
  std::uint64_t waits = 0;    ///< hits that made a stream wait for another
  std::uint64_t freed = 0;    ///< blocks returned to the upstream
  std::size_t in_use_bytes = 0;
  std::size_t cached_bytes = 0;
  std::size_t cached_blocks = 0;
  std::size_t high_water_bytes = 0;           ///< maximum of `in_use_bytes`
  std::size_t reserved_high_water_bytes = 0;  ///< maximum of `reserved_bytes()`

  [[nodiscard]] std::size_t reserved_bytes() const noexcept { return in_use_bytes + cached_bytes; }
  friend bool operator==(const PoolStatistics&, const PoolStatistics&) = default;
};

}  // namespace TESSERA_NAMESPACE
