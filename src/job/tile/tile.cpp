// SPDX-License-Identifier: Apache-2.0
#include <tessera/job/tile.hpp>

#include <tessera/job/stop_request.hpp>
#include <tessera/memory/workspace_pool.hpp>

namespace TESSERA_NAMESPACE {

MemoryLease Tile::workspace(std::size_t bytes) const {
  return memory_.workspaces->take(bytes, stream_);
}

bool Tile::stopping() const noexcept {
  if (stop_ != nullptr && stop_->requested()) told_to_stop_ = true;
  return told_to_stop_;
}

}  // namespace TESSERA_NAMESPACE
