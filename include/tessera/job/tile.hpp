// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/stream.hpp>
#include <tessera/memory/lease.hpp>
#include <tessera/partition/plan.hpp>
#include <tessera/topology/device_info.hpp>
#include <tessera/version.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace TESSERA_NAMESPACE {

class Arena;
class BufferPool;
class StopRequest;
class WorkspacePool;

/// The argument of a device function (the callback of a pass that computes units on a device): the units of
/// one device in one pass (a call of `Job::map`, `scatter`, `reduce` or `update`). Each device has its own
/// thread, bound to cores near the device, with the device's context current.
///
/// A tile that exceeds the memory budget is processed in parts, up to `JobOptions::parts_in_flight` of them
/// at a time. Parts that run concurrently are in different *lanes*. Each lane has its own thread, stream,
/// arena and workspaces, so that copies of one part overlap with the kernels of another. Parts begin in the
/// order of their units; parts in different lanes are not ordered otherwise. A tile in one part is one call,
/// in lane 0.
class TESSERA_EXPORT Tile {
 public:
  /// The units that this call computes.
  [[nodiscard]] Range range() const noexcept { return range_; }
  /// The whole tile that the plan gives the device; `range()` is a part of it if the tile exceeds the memory
  /// budget.
  [[nodiscard]] Range whole() const noexcept { return whole_; }
  /// Index among this rank's claimed devices. Use it to index state that stays on the device between passes.
  [[nodiscard]] int device_index() const noexcept { return device_index_; }
  /// Number of the lane, from 0 to `JobOptions::parts_in_flight` - 1. All calls for one device in one lane
  /// run in sequence, on one thread and one stream.
  [[nodiscard]] int lane() const noexcept { return lane_; }
  [[nodiscard]] const DeviceInfo& device() const noexcept { return *device_; }
  /// The stream of this tile's lane, synchronised after the function returns or throws. The function must
  /// itself wait for its work on other streams.
  [[nodiscard]] StreamView stream() const noexcept { return stream_; }

  /// Device memory that this call may use: this rank's share of the device's budget
  /// (`InventoryDevice::memory_budget_bytes`), divided by the number of parts that are computed at a time.
  /// Limit large allocations to this size.
  [[nodiscard]] std::int64_t memory_budget_bytes() const noexcept { return memory_.budget_bytes; }
  /// Device memory that may outlive the call: store its leases by `device_index()`.
  [[nodiscard]] BufferPool& buffers() const noexcept { return *memory_.buffers; }
  /// Scratch memory for a vendor library such as cuBLAS, bound to `stream()`, from a `WorkspacePool`.
  [[nodiscard]] MemoryLease workspace(std::size_t bytes) const;
  /// Device memory for this call only. The arena is reset before the next call.
  [[nodiscard]] Arena& arena() const noexcept { return *memory_.arena; }

  /// True once a stop of the job was requested (`JobOptions::stop`). A long-running function may check this
  /// between launches, and return early or throw. Once `stopping` has returned true, the part counts as
  /// incomplete, even if the function finishes it: call `stopping` only where the function can return.
  /// Cost: reading the clock.
  [[nodiscard]] bool stopping() const noexcept;
  /// True if `stopping` has returned true.
  [[nodiscard]] bool told_to_stop() const noexcept { return told_to_stop_; }

  /// Fails the tile, as an exception does: the job reacts by `JobOptions::on_device_failure`. The function
  /// should return soon after. The reason of the first call is kept.
  void fail(std::string reason) {
    if (!failed_) reason_ = std::move(reason);
    failed_ = true;
  }
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

 private:
  friend struct DeviceLane;

  /// The device's memory, reused from tile to tile; not owned.
  struct Memory {
    BufferPool* buffers;
    WorkspacePool* workspaces;
    Arena* arena;
    std::int64_t budget_bytes;
  };
  Tile(Range range, Range whole, int device_index, int lane, const DeviceInfo& device, StreamView stream,
       Memory memory, const StopRequest* stop)
      : range_(range),
        whole_(whole),
        device_index_(device_index),
        lane_(lane),
        device_(&device),
        stream_(stream),
        memory_(memory),
        stop_(stop) {}

  Range range_;
  Range whole_;
  int device_index_;
  int lane_;
  const DeviceInfo* device_;
  StreamView stream_;
  Memory memory_;
  const StopRequest* stop_;
  mutable bool told_to_stop_ = false;
  bool failed_ = false;
  std::string reason_;
};

/// The argument of a host function (the callback of a pass that computes units on a host thread): the units
/// of one call.
///
/// No two calls with the same `thread` run concurrently, so `thread` can index scratch space. Allocate it for
/// `threads`, not for `Job::threads()`: in a pass on devices, each simulated device has one thread, with the
/// number of the device, or one thread per lane if tiles may be computed in parts. Threads of the host's tile
/// (`JobOptions::hosts`) are numbered after those of the rank's GPUs.
struct HostTile {
  Range range;      ///< the units that this call computes
  int thread = 0;   ///< 0 to threads - 1
  int threads = 1;  ///< the same in all calls of a pass, and in all calls of its fallback
  int device = -1;  ///< the tile's device, by index among the rank's devices; -1 in a pass on hosts
  int lane = 0;     ///< see `Tile::lane`
};

}  // namespace TESSERA_NAMESPACE
