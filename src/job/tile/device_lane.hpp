// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/device_staging.hpp>
#include <tessera/job/tile.hpp>
#include <tessera/memory/arena.hpp>
#include <tessera/memory/workspace_pool.hpp>

#include <cstdint>
#include <optional>

namespace TESSERA_NAMESPACE {

/// State of a lane, a thread that computes parts of a claimed device's tiles. Only the lane's thread may
/// access it.
struct DeviceLane {
  int number = 0;
  bool thread_is_near = false;  ///< whether the thread is bound to CPUs near the device
  std::optional<WorkspacePool> workspaces;
  std::optional<Arena> arena;
  std::optional<DeviceStaging> staging;  ///< pinned memory for copies of arrays

  /// The argument of the next call of a device function. Resets the arena; the first call creates the lane's
  /// pools. The device must be current.
  [[nodiscard]] Tile make_tile(Range part, Range whole, int device, const DeviceContext& context,
                               BufferPool& buffers, std::int64_t budget_bytes, const StopRequest* stop);
};

}  // namespace TESSERA_NAMESPACE
