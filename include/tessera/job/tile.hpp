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

namespace tessera::inline TESSERA_ABI {

class Arena;
class BufferPool;
class StopRequest;
class WorkspacePool;

/// The work of one device in one pass, as its function sees it: on a thread of its own, with the
/// device's context current and the thread's affinity set near the device.
class TESSERA_EXPORT Tile {
 public:
  /// The units to compute now.
  [[nodiscard]] Range range() const noexcept { return range_; }
  /// The whole tile that the plan gives the device; `range()` is a part of it where the memory budget
  /// does not hold it at once.
  [[nodiscard]] Range whole() const noexcept { return whole_; }
  /// Counts this rank's claimed devices: the place for state that stays on the device between passes.
  [[nodiscard]] int device_index() const noexcept { return device_index_; }
  [[nodiscard]] const DeviceInfo& device() const noexcept { return *device_; }
  /// The stream of this tile. It is synchronised after the function returns or throws. Work that the
  /// function puts on a stream of its own it must wait for itself.
  [[nodiscard]] StreamView stream() const noexcept { return stream_; }

  /// What the job may take of the device's memory on this rank: `InventoryDevice::memory_budget_bytes`, a
  /// share where ranks share the device. Size by this what grows with the device.
  [[nodiscard]] std::int64_t memory_budget_bytes() const noexcept { return memory_.budget_bytes; }
  /// Device memory that outlives the tile: keep the leases with what `device_index()` finds.
  [[nodiscard]] BufferPool& buffers() const noexcept { return *memory_.buffers; }
  /// Scratch memory for one of the vendor's libraries, bound to `stream()`: of a `WorkspacePool`.
  [[nodiscard]] MemoryLease workspace(std::size_t bytes) const;
  /// Device memory for this call of the function alone: it is given up when the next begins.
  [[nodiscard]] Arena& arena() const noexcept { return *memory_.arena; }

  /// True once the job was asked to stop (`JobOptions::stop`). A function that takes long may ask between its
  /// launches, and return early, or throw: the part then counts as cut short, whatever it has done. So ask
  /// only where you would stop. Cost: a look at the clock.
  [[nodiscard]] bool stopping() const noexcept;
  /// True if `stopping` has said so.
  [[nodiscard]] bool told_to_stop() const noexcept { return told_to_stop_; }

  /// Fails the tile: the whole job falls back to the CPU. The function should return soon after.
  /// The first reason counts. Throwing does the same.
  void fail(std::string reason) {
    if (!failed_) reason_ = std::move(reason);
    failed_ = true;
  }
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

 private:
  friend struct DrivenDevice;

  /// A device's memory as its tiles reuse it; borrowed.
  struct Memory {
    BufferPool* buffers;
    WorkspacePool* workspaces;
    Arena* arena;
    std::int64_t budget_bytes;
  };
  Tile(Range range, Range whole, int device_index, const DeviceInfo& device, StreamView stream, Memory memory,
       const StopRequest* stop)
      : range_(range),
        whole_(whole),
        device_index_(device_index),
        device_(&device),
        stream_(stream),
        memory_(memory),
        stop_(stop) {}

  Range range_;
  Range whole_;
  int device_index_;
  const DeviceInfo* device_;
  StreamView stream_;
  Memory memory_;
  const StopRequest* stop_;
  mutable bool told_to_stop_ = false;
  bool failed_ = false;
  std::string reason_;
};

/// A part of the work on the host, as the CPU function sees it: one of several at once, on its own thread.
///
/// No two calls with the same `thread` run at once, so scratch space may be kept by it. Size such space by
/// `threads`, not by `Job::threads()`: where the function stands in for simulated devices, `thread` is
/// the device's index among the rank's devices and `threads` their number.
struct HostTile {
  Range range;      ///< the units to compute now
  int thread = 0;   ///< 0 to threads - 1
  int threads = 1;  ///< the same in all calls of one pass, or of its fallback
};

}  // namespace tessera::inline TESSERA_ABI
