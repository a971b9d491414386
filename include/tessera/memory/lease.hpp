// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/stream.hpp>
#include <tessera/version.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace tessera::inline TESSERA_ABI {

namespace memory {
struct Block;
class BlockCache;
}  // namespace memory

/// Memory borrowed from a pool by one stream, returned when this object goes. Move-only.
///
/// Work on the lease's stream may use the memory from the moment it is taken, and may still be using it
/// when it is returned: nothing waits, and the pool gives it to another stream only in order. Work on any
/// *other* stream must be ordered after the take by the caller, and told of by `record_stream`, or the
/// memory may be somebody else's while that work still runs. One lease is not for several threads at once,
/// but may be returned on any thread. A lease may outlive its pool, and on a context's own stream (a tile's)
/// the context and the job too; a `Stream` must outlive its leases.
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

  /// Null if nothing is leased (0 bytes were asked for, or it was returned or moved from).
  [[nodiscard]] void* data() const noexcept { return data_; }
  /// As asked for. What the pool rounded it up to is not for use.
  [[nodiscard]] std::size_t size_bytes() const noexcept { return size_bytes_; }
  explicit operator bool() const noexcept { return data_ != nullptr; }
  /// The stream that the lease is bound to. A lease of nothing has none.
  [[nodiscard]] StreamView stream() const noexcept;

  /// Work on `other` uses the memory too: once the lease is returned, nobody is given the memory before what
  /// is on `other` *at the return* is complete or ordered before them. Throws `Error(usage)` for a stream
  /// that the pool does not take. Thread-safe with other leases. Cost: an event recorded at the return.
  void record_stream(StreamView other);

  /// Returns the memory now. Waits for nothing.
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

/// What a pool did and holds. Exact at the moment it is asked for; bytes are as rounded by the pool.
struct PoolStatistics {
  std::uint64_t hits = 0;        ///< takes that cached memory served
  std::uint64_t misses = 0;      ///< takes that asked upstream
  std::uint64_t returns = 0;     ///< leases returned
  std::uint64_t waits = 0;       ///< hits for which a stream was made to wait for another's work
  std::uint64_t given_back = 0;  ///< blocks given back upstream
  std::size_t in_use_bytes = 0;
  std::size_t cached_bytes = 0;
  std::size_t cached_blocks = 0;
  std::size_t high_water_bytes = 0;           ///< highest `in_use_bytes`
  std::size_t reserved_high_water_bytes = 0;  ///< highest `reserved_bytes()`

  [[nodiscard]] std::size_t reserved_bytes() const noexcept { return in_use_bytes + cached_bytes; }
  friend bool operator==(const PoolStatistics&, const PoolStatistics&) = default;
};

}  // namespace tessera::inline TESSERA_ABI
