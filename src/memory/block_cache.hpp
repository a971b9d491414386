// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory/size_classes.hpp"

#include <tessera/memory/lease.hpp>
#include <tessera/memory/upstream.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

/// The implementation of the pools: blocks of device memory that are leased to streams and, once returned,
/// cached by stream and size class.
namespace TESSERA_NAMESPACE::memory {

struct Link {
  Block* newer = nullptr;
  Block* older = nullptr;
};

/// An intrusive list of blocks in the order of their return; `link` is the member with a block's neighbours.
template <Link Block::*link>
class BlockList {
 public:
  [[nodiscard]] Block* newest() const noexcept { return newest_; }
  [[nodiscard]] Block* oldest() const noexcept { return oldest_; }
  void push_newest(Block& block) noexcept {
    (block.*link) = {nullptr, newest_};
    (newest_ != nullptr ? (newest_->*link).newer : oldest_) = &block;
    newest_ = &block;
  }
  void push_oldest(Block& block) noexcept {
    (block.*link) = {oldest_, nullptr};
    (oldest_ != nullptr ? (oldest_->*link).older : newest_) = &block;
    oldest_ = &block;
  }
  void remove(Block& block) noexcept {
    const Link at = block.*link;
    (at.newer != nullptr ? (at.newer->*link).older : newest_) = at.older;
    (at.older != nullptr ? (at.older->*link).newer : oldest_) = at.newer;
  }

 private:
  Block* newest_ = nullptr;
  Block* oldest_ = nullptr;
};

struct StreamQueue;

/// Alignment against false sharing, for data that every cache hit writes: keeps data of different pools two
/// cache lines apart, because processors prefetch lines in pairs.
inline constexpr std::size_t apart_bytes = 128;

/// The use of a block by another stream (`record_stream`).
struct Guest {
  StreamView stream;
  EventView event;
  /// Whether `event` has been recorded: at the block's return, or at the release of `stream`.
  bool recorded = false;
};

struct alignas(apart_bytes) Block {
  void* data = nullptr;
  SizeClass size;
  BlockCache* cache = nullptr;
  StreamQueue* queue = nullptr;  ///< queue of the stream that leases the block, or leased it last; null: the
                                 ///< block has no memory
  bool leased = false;
  std::uint64_t returned = 0;  ///< `StreamQueue::returns` at the block's last return
  std::vector<Guest> guests;
  Link in_bin;
  Link in_cache;
};

/// Cached blocks of a stream, and how much of its work is known to be complete. An event is recorded only
/// when another stream needs a block; the event covers all earlier returns.
struct alignas(apart_bytes) StreamQueue {
  StreamQueue(StreamView of, std::size_t classes) : stream(of), bins(classes) {}

  StreamView stream;
  std::vector<BlockList<&Block::in_bin>> bins;  ///< lists of cached blocks, one for each size class
  std::size_t leases = 0;
  std::uint64_t returns = 0;
  std::uint64_t complete = 0;  ///< number of returns up to which all work is known to be complete
  std::uint64_t marked = 0;    ///< number of returns up to which `mark` covers the work
  EventView mark;
};

struct CacheLimits {
  double slack = std::numeric_limits<double>::infinity();  ///< see `BufferPoolOptions`
  std::size_t floor_bytes = 0;
  std::size_t reserved_bytes = std::numeric_limits<std::size_t>::max();
  std::size_t cached_bytes = std::numeric_limits<std::size_t>::max();  ///< maximum of cached bytes: a return
                                                                       ///< beyond it frees the oldest blocks
  std::size_t blocks_per_class = std::numeric_limits<std::size_t>::max();  ///< maximum number of cached
                                                                           ///< blocks per size class
};

/// Thread-safe. Deletes itself once the owning pool has closed it and the last lease is returned.
class alignas(apart_bytes) BlockCache {
 public:
  /// `pool` is the name in messages: "buffer pool".
  BlockCache(std::unique_ptr<MemoryUpstream> upstream, ClassOf class_of, const char* pool,
             CacheLimits limits);
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  /// See `BufferPool::take`. `bytes` is at least 1.
  [[nodiscard]] MemoryLease take(std::size_t bytes, StreamView stream);
  void give_back(Block& block) noexcept;
  void record_stream(Block& block, StreamView other);
  void fill_zero(const MemoryLease& lease);

  void release_stream(StreamView stream);
  void empty() noexcept;
  void close() noexcept;

  [[nodiscard]] PoolStatistics statistics() const;
  void reset_statistics() noexcept;
  [[nodiscard]] MemoryUpstream::MemoryInfo memory_info() const;

 private:
  ~BlockCache();

  [[nodiscard]] StreamQueue& queue_of(StreamView stream);
  [[nodiscard]] Block* find(StreamQueue& queue, std::uint32_t size_class);
  [[nodiscard]] bool is_complete(Block& block, const StreamQueue& taker);
  void order_before(Block& block, const StreamQueue& taker);
  [[nodiscard]] Block& allocate(SizeClass size, const StreamQueue& queue, std::size_t requested);
  void make_room(std::size_t bytes) noexcept;
  [[nodiscard]] void* reclaim(std::size_t bytes, StreamView stream);
  void wait_for_all();
  [[noreturn]] void run_out(std::size_t requested, std::size_t cached_before, const char* why) const;

  void put_in_cache(Block& block) noexcept;
  void take_from_cache(Block& block) noexcept;
  void evict(Block& block) noexcept;
  [[nodiscard]] EventView spare_event();
  void record_guests(Block& block) noexcept;
  void forget_guests(Block& block) noexcept;

  mutable std::mutex mutex_;
  StreamQueue* last_queue_ = nullptr;
  ClassOf class_of_;
  CacheLimits limits_;
  PoolStatistics statistics_;
  BlockList<&Block::in_cache> cached_;
  std::vector<std::size_t> kept_;  ///< number of cached blocks, by size class
  std::size_t leases_ = 0;
  std::size_t mark_bytes_ = 0;  ///< maximum of bytes in use since the cache was last emptied
  /// Estimated capacity: the bytes reserved when the device last refused memory, raised by each allocation
  /// since. An allocation beyond the estimate first frees cached blocks, because a refusal costs
  /// milliseconds.
  std::size_t known_to_fit_ = std::numeric_limits<std::size_t>::max();
  bool closed_ = false;
  std::vector<std::unique_ptr<StreamQueue>> queues_;
  std::deque<Block> blocks_;          ///< all blocks ever created
  std::vector<Block*> spare_blocks_;  ///< blocks without memory
  std::vector<EventView> spare_events_;
  std::size_t events_ = 0;
  std::unique_ptr<MemoryUpstream> upstream_;
  const char* pool_;
};

}  // namespace TESSERA_NAMESPACE::memory
