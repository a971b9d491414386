// SPDX-License-Identifier: Apache-2.0
#include <tessera/memory/buffer_pool.hpp>

#include "memory/block_cache.hpp"

#include <tessera/error.hpp>

#include <string>

namespace TESSERA_NAMESPACE {

using memory::BlockCache;

BufferPool::BufferPool(std::unique_ptr<MemoryUpstream> upstream, BufferPoolOptions options) {
  if (!(options.slack >= 0))
    throw Error(ErrorCode::usage, "buffer pool: the slack is " + std::to_string(options.slack) +
                                      ", but it must not be negative");
  cache_ = std::unique_ptr<BlockCache, Closer>(new BlockCache(
      std::move(upstream), memory::fine_class, "buffer pool",
      {.slack = options.slack, .floor_bytes = options.floor_bytes, .reserved_bytes = options.limit_bytes}));
}

BufferPool::~BufferPool() = default;
BufferPool::BufferPool(BufferPool&&) noexcept = default;
BufferPool& BufferPool::operator=(BufferPool&&) noexcept = default;

void BufferPool::Closer::operator()(BlockCache* cache) const noexcept {
  cache->close();
}

MemoryLease BufferPool::take_bytes(std::size_t bytes, StreamView stream, Fill fill) {
  BlockCache& cache = *cache_;
  if (bytes == 0) return {};
  MemoryLease lease = cache.take(bytes, stream);
  if (fill == Fill::zero) cache.fill_zero(lease);
  return lease;
}

void BufferPool::release_stream(StreamView stream) {
  cache_->release_stream(stream);
}

void BufferPool::empty_cache() noexcept {
  if (cache_) cache_->empty();
}

PoolStatistics BufferPool::statistics() const {
  return cache_->statistics();
}

void BufferPool::reset_statistics() noexcept {
  if (cache_) cache_->reset_statistics();
}

MemoryUpstream::MemoryInfo BufferPool::memory_info() const {
  return cache_->memory_info();
}

}  // namespace TESSERA_NAMESPACE
