// SPDX-License-Identifier: Apache-2.0
#include <tessera/job/tile.hpp>

#include <tessera/memory/workspace_pool.hpp>

namespace tessera {

MemoryLease Tile::workspace(std::size_t bytes) const {
  return memory_.workspaces->take(bytes, stream_);
}

}  // namespace tessera
