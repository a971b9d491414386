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

/// An array on the host and the devices of this rank. During a pass, a lane's thread may change only its own
/// `DeviceCopy`, and read the other members.
class ArrayState {
 public:
  /// The copy on one device: the device's tile, or a lane's part of it if the pass streams the array.
  struct DeviceCopy {
    Range units;
    MemoryLease current;
    MemoryLease next;  ///< output of the running pass
    std::int64_t version = no_version;
    bool written = false;  ///< whether the running pass writes to `next`
  };
  static constexpr std::int64_t no_version = -1;
  /// Which versions of the array are in device memory: equal on every rank, even on ranks without tiles.
  struct Held {
    bool current = false;
    bool next = false;
    [[nodiscard]] int copies() const noexcept { return (current ? 1 : 0) + (next ? 1 : 0); }
  };

  ArrayState(Job::State& of, Plan by, std::size_t bytes_of_unit);
  ~ArrayState();
  ArrayState(const ArrayState&) = delete;
  ArrayState& operator=(const ArrayState&) = delete;

  [[nodiscard]] std::size_t bytes_of(Range units) const noexcept {
    return static_cast<std::size_t>(units.size()) * unit_bytes;
  }
  /// `memory` is `host` or `next_host`.
  [[nodiscard]] std::byte* on_host(std::vector<std::byte>& memory, Range units) const;
  /// Whether only devices have the current version.
  [[nodiscard]] bool is_outdated_on_host() const noexcept { return host_version != version; }
  /// Replaces `host` by `next_host`, as version `of`.
  void take_next_host(std::int64_t of);
  void free_on_devices() noexcept {
    devices.clear();
    held = {};
    unit_room.reset();
  }
  /// Frees the device memory that was allocated since the last successful vote.
  void free_uncommitted() noexcept;

  Job::State& job;
  int number = 0;  ///< identifies the array, equal on every rank
  Plan plan;
  std::size_t unit_bytes;
  std::int64_t version = 0;
  std::int64_t host_version = 0;
  std::vector<std::byte> host;       ///< this rank's units, of version `host_version`
  std::vector<std::byte> next_host;  ///< output of a pass, which later replaces `host`; else empty
  /// By claimed device, or by worker if the pass streams the array; empty on the CPU.
  std::vector<DeviceCopy> devices;
  Held held;                   ///< copies on devices as of the last vote
  Held wanted;                 ///< copies on devices after the next vote, if it succeeds
  std::int64_t last_pass = 0;  ///< last pass that used the array on devices, for LRU eviction
  /// Cache of the largest unit size at which every tile fits its device's budget.
  std::optional<double> unit_room;
  std::atomic<std::int64_t> uploads = 0;
  std::atomic<std::int64_t> uploaded_bytes = 0;
  std::atomic<std::int64_t> downloads = 0;
  std::atomic<std::int64_t> downloaded_bytes = 0;
};

}  // namespace TESSERA_NAMESPACE::detail
