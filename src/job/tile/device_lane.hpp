// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/device_staging.hpp>
#include <tessera/job/tile.hpp>
#include <tessera/memory/arena.hpp>
#include <tessera/memory/workspace_pool.hpp>

#include <cstdint>
#include <optional>

namespace TESSERA_NAMESPACE {

/// A lane of a claimed device: a thread that computes parts of the device's tiles, with the thread's state
/// between passes. Only that thread accesses it.
struct DeviceLane {
  int number = 0;               ///< index among the lanes of the device
  bool thread_is_near = false;  ///< whether the thread is bound near the device
  std::optional<WorkspacePool> workspaces;
  std::optional<Arena> arena;
  std::optional<DeviceStaging> staging;  ///< pinned memory for copies of arrays

  /// The argument of the next call of the device function; creates the lane's pools at the first call. The
  /// device must be current.
  [[nodiscard]] Tile make_tile(Range part, Range whole, int device, const DeviceContext& context,
                               BufferPool& buffers, std::int64_t budget_bytes, const StopRequest* stop);
};

}  // namespace TESSERA_NAMESPACE
