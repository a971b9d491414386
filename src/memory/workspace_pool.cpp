// SPDX-License-Identifier: Apache-2.0
#include <tessera/memory/workspace_pool.hpp>

#include "memory/block_cache.hpp"

#include <tessera/error.hpp>

#include <utility>

namespace TESSERA_NAMESPACE {
namespace {

using memory::BlockCache;

memory::CacheLimits limits_of(const WorkspacePoolOptions& options) {
  if (options.slabs_per_class < 1)
    throw Error(ErrorCode::usage, "workspace pool: slabs_per_class is 0: set at least 1");
  return {.cached_bytes = options.high_water_bytes, .blocks_per_class = options.slabs_per_class};
}

}  // namespace

WorkspacePool::WorkspacePool(std::unique_ptr<MemoryUpstream> upstream, WorkspacePoolOptions options)
    : cache_(std::unique_ptr<BlockCache, Closer>(
          new BlockCache(std::move(upstream), memory::power_class, "workspace pool", limits_of(options)))) {}

WorkspacePool::~WorkspacePool() = default;
WorkspacePool::WorkspacePool(WorkspacePool&&) noexcept = default;
WorkspacePool& WorkspacePool::operator=(WorkspacePool&&) noexcept = default;

void WorkspacePool::Closer::operator()(BlockCache* cache) const noexcept {
  cache->close();
}

MemoryLease WorkspacePool::take(std::size_t bytes, StreamView stream) {
  BlockCache& cache = *cache_;
  return bytes == 0 ? MemoryLease() : cache.take(bytes, stream);
}

void WorkspacePool::release_stream(StreamView stream) {
  cache_->release_stream(stream);
}

void WorkspacePool::empty_cache() noexcept {
  if (cache_) cache_->empty();
}

PoolStatistics WorkspacePool::statistics() const {
  return cache_->statistics();
}

void WorkspacePool::reset_statistics() noexcept {
  if (cache_) cache_->reset_statistics();
}

}  // namespace TESSERA_NAMESPACE
