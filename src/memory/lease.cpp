// SPDX-License-Identifier: Apache-2.0
#include <tessera/memory/lease.hpp>

#include "memory/block_cache.hpp"

#include <tessera/error.hpp>

namespace TESSERA_NAMESPACE {

StreamView MemoryLease::stream() const noexcept {
  return block_ != nullptr ? block_->queue->stream : StreamView{};
}

void MemoryLease::record_stream(StreamView other) {
  if (block_ != nullptr) block_->cache->record_stream(*block_, other);
}

void MemoryLease::give_back() noexcept {
  size_bytes_ = 0;
  data_ = nullptr;
  memory::Block* block = std::exchange(block_, nullptr);
  block->cache->give_back(*block);
}

}  // namespace TESSERA_NAMESPACE
