// SPDX-License-Identifier: Apache-2.0
#include "memory/block_cache.hpp"

#include <tessera/error.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace TESSERA_NAMESPACE::memory {

BlockCache::BlockCache(std::unique_ptr<MemoryUpstream> upstream, ClassOf class_of, const char* pool,
                       CacheLimits limits)
    : class_of_(class_of),
      limits_(limits),
      kept_(class_of(largest_class_bytes).index + 1),
      upstream_(std::move(upstream)),
      pool_(pool) {
  if (!upstream_)
    throw Error(ErrorCode::usage,
                std::string(pool) + ": the upstream is null: give each pool a separate upstream");
}

BlockCache::~BlockCache() {
  for (const auto& queue : queues_) {
    if (queue->mark.native() != nullptr) upstream_->destroy_event(queue->mark);
  }
  for (const EventView event : spare_events_) upstream_->destroy_event(event);
}

void BlockCache::close() noexcept {
  bool last = false;
  {
    const std::lock_guard lock(mutex_);
    while (cached_.oldest() != nullptr) evict(*cached_.oldest());
    closed_ = true;
    last = leases_ == 0;
  }
  if (last) delete this;
}

MemoryLease BlockCache::take(std::size_t bytes, StreamView stream) {
  const std::lock_guard lock(mutex_);
  if (bytes > largest_class_bytes)
    run_out(bytes, statistics_.cached_bytes, "the size exceeds the largest block of a pool");
  const SizeClass size = class_of_(bytes);
  StreamQueue& queue = queue_of(stream);
  Block* block = queue.bins[size.index].newest();
  // Prefers a block that this stream returned, which needs no event unless other streams used it too.
  if (block == nullptr || !block->guests.empty()) block = find(queue, size.index);
  if (block != nullptr) {
    take_from_cache(*block);
    ++statistics_.hits;
  } else {
    block = &allocate(size, queue, bytes);
    ++statistics_.misses;
  }
  block->queue = &queue;
  block->leased = true;
  ++queue.leases;
  ++leases_;
  statistics_.in_use_bytes += size.bytes;
  mark_bytes_ = std::max(mark_bytes_, statistics_.in_use_bytes);
  statistics_.high_water_bytes = std::max(statistics_.high_water_bytes, statistics_.in_use_bytes);
  statistics_.reserved_high_water_bytes =
      std::max(statistics_.reserved_high_water_bytes, statistics_.reserved_bytes());
  return {block, block->data, bytes};
}

void BlockCache::give_back(Block& block) noexcept {
  bool last = false;
  {
    const std::lock_guard lock(mutex_);
    StreamQueue& queue = *block.queue;
    block.returned = ++queue.returns;
    block.leased = false;
    --queue.leases;
    ++statistics_.returns;
    statistics_.in_use_bytes -= block.size.bytes;
    if (!block.guests.empty()) record_guests(block);
    put_in_cache(block);
    if (kept_[block.size.index] > limits_.blocks_per_class) evict(block);
    while (statistics_.cached_bytes > limits_.cached_bytes) evict(*cached_.oldest());
    if (closed_ && cached_.oldest() != nullptr) evict(*cached_.oldest());
    last = --leases_ == 0 && closed_;
  }
  if (last) delete this;
}

void BlockCache::record_stream(Block& block, StreamView other) {
  const std::lock_guard lock(mutex_);
  if (other == block.queue->stream) return;
  upstream_->check_stream(other);
  const auto is_other = [&](const Guest& guest) { return guest.stream == other && !guest.recorded; };
  if (std::ranges::any_of(block.guests, is_other)) return;
  block.guests.reserve(block.guests.size() + 1);
  block.guests.push_back({other, spare_event()});
}

void BlockCache::fill_zero(const MemoryLease& lease) {
  const std::lock_guard lock(mutex_);
  upstream_->fill_zero(lease.data(), lease.size_bytes(), lease.block_->queue->stream);
}

StreamQueue& BlockCache::queue_of(StreamView stream) {
  if (last_queue_ != nullptr && last_queue_->stream == stream) return *last_queue_;
  const auto known = std::ranges::find(queues_, stream, [](const auto& queue) { return queue->stream; });
  if (known != queues_.end()) {
    last_queue_ = known->get();
  } else {
    upstream_->check_stream(stream);
    queues_.push_back(std::make_unique<StreamQueue>(stream, kept_.size()));
    last_queue_ = queues_.back().get();
  }
  return *last_queue_;
}

/// A cached block of the size class that later work on `queue`'s stream may use; null if none is cached.
/// Prefers blocks that need no wait, and among these the stream's own. Checks the oldest blocks of other
/// streams, because their work is most likely complete.
Block* BlockCache::find(StreamQueue& queue, std::uint32_t size_class) {
  Block* waiting = nullptr;
  const auto look_at = [&](Block* block) {
    if (block == nullptr) return false;
    if (is_complete(*block, queue)) return true;
    if (waiting == nullptr) waiting = block;
    return false;
  };
  if (Block* own = queue.bins[size_class].newest(); look_at(own)) return own;
  for (const auto& other : queues_) {
    if (other.get() == &queue) continue;
    if (Block* block = other->bins[size_class].oldest(); look_at(block)) return block;
  }
  if (waiting != nullptr) {
    order_before(*waiting, queue);
    ++statistics_.waits;
  }
  return waiting;
}

/// Whether the taker's stream may use the block without waiting: all other streams' work on the block is
/// complete.
bool BlockCache::is_complete(Block& block, const StreamQueue& taker) {
  StreamQueue& owner = *block.queue;
  if (&owner != &taker && block.returned > owner.complete) {
    if (block.returned > owner.marked || !upstream_->ready(owner.mark)) return false;
    owner.complete = owner.marked;
  }
  for (const Guest& guest : block.guests) {
    if (guest.stream != taker.stream && !upstream_->ready(guest.event)) return false;
  }
  forget_guests(block);
  return true;
}

/// Makes the taker's stream wait for all work on the block.
void BlockCache::order_before(Block& block, const StreamQueue& taker) {
  StreamQueue& owner = *block.queue;
  if (&owner != &taker && block.returned > owner.complete) {
    if (block.returned > owner.marked) {
      if (owner.mark.native() == nullptr) owner.mark = spare_event();
      upstream_->record(owner.mark, owner.stream);
      owner.marked = owner.returns;
    }
    upstream_->make_wait(taker.stream, owner.mark);
  }
  for (const Guest& guest : block.guests) {
    if (guest.stream != taker.stream) upstream_->make_wait(taker.stream, guest.event);
  }
  forget_guests(block);
}

Block& BlockCache::allocate(SizeClass size, const StreamQueue& queue, std::size_t requested) {
  const std::size_t cached_before = statistics_.cached_bytes;
  if (size.bytes > limits_.reserved_bytes - std::min(limits_.reserved_bytes, statistics_.in_use_bytes))
    run_out(requested, cached_before, "the limit of the pool is too low");
  if (spare_blocks_.empty()) {
    blocks_.emplace_back().cache = this;
    spare_blocks_.reserve(blocks_.size());  // so that returning the block later cannot fail
    spare_blocks_.push_back(&blocks_.back());
  }
  make_room(size.bytes);
  void* data = upstream_->allocate(size.bytes, queue.stream);
  if (data == nullptr) data = reclaim(size.bytes, queue.stream);
  if (data == nullptr) run_out(requested, cached_before, "device memory has run out");
  // After a refusal the estimated capacity grows slowly, because faster growth would cause new refusals soon.
  constexpr std::size_t growth = 256;
  if (known_to_fit_ != std::numeric_limits<std::size_t>::max()) known_to_fit_ += size.bytes / growth;
  Block& block = *spare_blocks_.back();
  spare_blocks_.pop_back();
  block.data = data;
  block.size = size;
  return block;
}

/// Retries after the device refused memory. Frees the oldest cached blocks and tries again. If this fails,
/// frees all cached blocks, waits for the work of all streams, and tries once more. Null if memory is still
/// short.
void* BlockCache::reclaim(std::size_t bytes, StreamView stream) {
  known_to_fit_ = statistics_.reserved_bytes();
  make_room(bytes);
  if (void* data = upstream_->allocate(bytes, stream); data != nullptr) return data;
  while (cached_.oldest() != nullptr) evict(*cached_.oldest());
  wait_for_all();
  upstream_->trim();
  return upstream_->allocate(bytes, stream);
}

/// Frees cached blocks until `bytes` more may be reserved. The bytes in use plus `bytes` must not exceed the
/// pool's limit; the slack always allows this sum.
void BlockCache::make_room(std::size_t bytes) noexcept {
  const std::size_t needed = statistics_.in_use_bytes + bytes;
  const double marked = static_cast<double>(std::max(mark_bytes_, needed)) * (1.0 + limits_.slack);
  const double floor = std::max(marked, static_cast<double>(limits_.floor_bytes));
  const std::size_t limit = std::min(limits_.reserved_bytes, known_to_fit_);
  const auto most = floor < static_cast<double>(limit) ? static_cast<std::size_t>(floor) : limit;
  while (statistics_.cached_bytes > std::max(most, needed) - needed) evict(*cached_.oldest());
}

void BlockCache::wait_for_all() {
  for (const auto& queue : queues_) {
    if (queue->mark.native() == nullptr) queue->mark = spare_event();
    upstream_->record(queue->mark, queue->stream);
    queue->marked = queue->returns;
    upstream_->synchronize(queue->mark);
    queue->complete = queue->returns;
  }
}

void BlockCache::run_out(std::size_t requested, std::size_t cached_before, const char* why) const {
  const MemoryUpstream::MemoryInfo device = upstream_->memory_info();
  const auto figure = [](std::size_t bytes) { return std::to_string(bytes); };
  std::string message = std::string(pool_) + ": " + figure(requested) + " bytes were requested, but " + why +
                        ": " + figure(statistics_.in_use_bytes) + " bytes in use, " + figure(cached_before) +
                        " cached";
  if (statistics_.cached_bytes < cached_before) message += " (freed)";
  message += "; the device has " + figure(device.free_bytes) + " free of " + figure(device.total_bytes);
  if (limits_.reserved_bytes != CacheLimits{}.reserved_bytes)
    message += "; the pool's limit is " + figure(limits_.reserved_bytes);
  throw Error(ErrorCode::job_fault, message);
}

void BlockCache::put_in_cache(Block& block) noexcept {
  auto& bin = block.queue->bins[block.size.index];
  // Blocks with guests go to the old end, so that the newest block is usable at once.
  block.guests.empty() ? bin.push_newest(block) : bin.push_oldest(block);
  cached_.push_newest(block);
  ++kept_[block.size.index];
  ++statistics_.cached_blocks;
  statistics_.cached_bytes += block.size.bytes;
}

void BlockCache::take_from_cache(Block& block) noexcept {
  block.queue->bins[block.size.index].remove(block);
  cached_.remove(block);
  --kept_[block.size.index];
  --statistics_.cached_blocks;
  statistics_.cached_bytes -= block.size.bytes;
}

void BlockCache::evict(Block& block) noexcept {
  take_from_cache(block);
  ++statistics_.freed;
  try {
    order_before(block, *block.queue);
  } catch (const Error&) {
    // Event calls fail only on a lost device, whose memory is no longer used.
    forget_guests(block);
  }
  upstream_->deallocate(block.data, block.size.bytes, block.queue->stream);
  block.data = nullptr;
  block.queue = nullptr;
  spare_blocks_.push_back(&block);
}

EventView BlockCache::spare_event() {
  if (spare_events_.empty()) {
    spare_events_.reserve(events_ + 1);  // so that returning the event later cannot fail
    const EventView event = upstream_->create_event();
    ++events_;
    return event;
  }
  const EventView event = spare_events_.back();
  spare_events_.pop_back();
  return event;
}

void BlockCache::record_guests(Block& block) noexcept {
  for (Guest& guest : block.guests) {
    if (guest.recorded) continue;
    try {
      upstream_->record(guest.event, guest.stream);
    } catch (const Error&) {
      // Fails only on a lost device; the next call that may throw reports it.
    }
    guest.recorded = true;
  }
}

void BlockCache::forget_guests(Block& block) noexcept {
  for (const Guest& guest : block.guests) spare_events_.push_back(guest.event);
  block.guests.clear();
}

void BlockCache::release_stream(StreamView stream) {
  if (stream.native() == nullptr) return;  // a simulated device: all of its streams are null
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find(queues_, stream, [](const auto& queue) { return queue->stream; });
  if (known != queues_.end() && (*known)->leases > 0)
    throw Error(ErrorCode::usage, std::string(pool_) + ": a stream cannot be released while " +
                                      std::to_string((*known)->leases) +
                                      " leases are bound to this stream: return the leases first");
  // Blocks of other streams may have this stream as a guest: recorded events replace the stream.
  for (Block& block : blocks_) {
    for (Guest& guest : block.guests) {
      if (guest.stream != stream) continue;
      if (!guest.recorded) upstream_->record(guest.event, stream);
      guest.recorded = true;
      guest.stream = {};
    }
  }
  if (known == queues_.end()) return;
  StreamQueue& queue = **known;
  for (auto& bin : queue.bins) {
    while (bin.oldest() != nullptr) evict(*bin.oldest());
  }
  if (queue.mark.native() != nullptr) spare_events_.push_back(queue.mark);
  if (last_queue_ == &queue) last_queue_ = nullptr;
  queues_.erase(known);
}

void BlockCache::empty() noexcept {
  const std::lock_guard lock(mutex_);
  while (cached_.oldest() != nullptr) evict(*cached_.oldest());
  mark_bytes_ = statistics_.in_use_bytes;
  upstream_->trim();
}

PoolStatistics BlockCache::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

void BlockCache::reset_statistics() noexcept {
  const std::lock_guard lock(mutex_);
  const PoolStatistics now = statistics_;
  statistics_ = {};
  statistics_.in_use_bytes = statistics_.high_water_bytes = now.in_use_bytes;
  statistics_.cached_bytes = now.cached_bytes;
  statistics_.cached_blocks = now.cached_blocks;
  statistics_.reserved_high_water_bytes = now.reserved_bytes();
}

MemoryUpstream::MemoryInfo BlockCache::memory_info() const {
  const std::lock_guard lock(mutex_);
  return upstream_->memory_info();
}

}  // namespace TESSERA_NAMESPACE::memory
