// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/array.hpp>
#include <tessera/memory/lease.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace TESSERA_NAMESPACE::detail {

/// An array on the host and the devices of this rank. In a pass the thread of a lane changes only its own
/// `DeviceCopy`, and only reads the other members.
class ArrayState {
 public:
  /// The copy on one device: the device's tile or, while a pass streams the array, a lane's part of it.
  struct DeviceCopy {
    Range units;
    MemoryLease current;
    MemoryLease next;                   ///< the version that the running pass writes
    std::int64_t version = no_version;  ///< version of `current`
    bool written = false;               ///< whether the running pass writes `next`
  };
  static constexpr std::int64_t no_version = -1;
  /// The versions of the array that are in device memory: the same on every rank, also without tiles.
  struct Held {
    bool current = false;
    bool next = false;
    [[nodiscard]] int copies() const noexcept { return (current ? 1 : 0) + (next ? 1 : 0); }
  };

  /// Registers itself with the job.
  ArrayState(Job::State& of, Plan by, std::size_t bytes_of_unit);
  ~ArrayState();
  ArrayState(const ArrayState&) = delete;
  ArrayState& operator=(const ArrayState&) = delete;

  [[nodiscard]] std::size_t bytes_of(Range units) const noexcept {
    return static_cast<std::size_t>(units.size()) * unit_bytes;
  }
  /// The address of `units` in `memory`, which is `host` or `next_host`.
  [[nodiscard]] std::byte* on_host(std::vector<std::byte>& memory, Range units) const;
  /// Whether only devices have the last version.
  [[nodiscard]] bool is_outdated_on_host() const noexcept { return host_version != version; }
  /// Makes `next_host` the host's copy, of version `of`.
  void take_next_host(std::int64_t of);
  /// Frees the array's memory on all devices.
  void free_on_devices() noexcept {
    devices.clear();
    held = {};
    unit_room.reset();
  }
  /// Frees the memory that a failed pass has allocated.
  void free_uncommitted() noexcept;

  Job::State& job;
  int number = 0;  ///< identifies the array; the same on every rank
  Plan plan;
  std::size_t unit_bytes;
  std::int64_t version = 0;
  std::int64_t host_version = 0;
  std::vector<std::byte> host;       ///< this rank's units in version `host_version`
  std::vector<std::byte> next_host;  ///< the next version, which replaces `host` when complete; else empty
  /// By index among the claimed devices, or, while a pass streams the array, by worker; empty on the CPU.
  std::vector<DeviceCopy> devices;
  Held held;                   ///< state since the last verdict
  Held wanted;                 ///< state after the next verdict
  std::int64_t last_pass = 0;  ///< number of the last pass that used it on devices
  /// The largest unit size at which every device's budget holds its whole tile; computed on first use.
  std::optional<double> unit_room;
  std::atomic<std::int64_t> uploads = 0;
  std::atomic<std::int64_t> uploaded_bytes = 0;
  std::atomic<std::int64_t> downloads = 0;
  std::atomic<std::int64_t> downloaded_bytes = 0;
};

}  // namespace TESSERA_NAMESPACE::detail
