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

/// An array on the host and the devices of this rank. In a pass each lane's thread accesses its own copy, and
/// reads the rest.
class ArrayState {
 public:
  /// What one device has: of its tile, or, while a pass streams the array, what a lane has of its part.
  struct DeviceCopy {
    Range units;
    MemoryLease current;
    MemoryLease next;                   ///< what a pass writes
    std::int64_t version = no_version;  ///< of `current`
    bool written = false;               ///< `next`, by the pass that runs
  };
  static constexpr std::int64_t no_version = -1;
  /// Which memory the array has on each device of its plan: the same on every rank, whatever its tiles.
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
  /// Where the host has `units`, in memory of this rank's.
  [[nodiscard]] std::byte* on_host(std::vector<std::byte>& memory, Range units) const;
  /// Only devices have the last version.
  [[nodiscard]] bool is_stale_on_host() const noexcept { return host_version != version; }
  /// Takes what was written to `next_host` as the host's version `of`.
  void take_next_host(std::int64_t of);
  /// Returns all memory on devices.
  void forget_devices() noexcept {
    devices.clear();
    held = {};
    unit_room.reset();
  }
  /// Returns the memory that a pass took which has failed.
  void return_uncommitted() noexcept;

  Job::State& job;
  int number;  ///< the same on every rank
  Plan plan;
  std::size_t unit_bytes;
  std::int64_t version = 0;
  std::int64_t host_version = 0;
  std::vector<std::byte> host;       ///< this rank's units
  std::vector<std::byte> next_host;  ///< what replaces it; empty in between
  /// By index among the claimed devices, or, while a pass streams the array, by worker; empty on the CPU.
  std::vector<DeviceCopy> devices;
  Held held;                   ///< as of the last verdict
  Held wanted;                 ///< as of the next one
  std::int64_t last_pass = 0;  ///< on devices
  /// The bytes of a unit that the memory budget of each device would hold for its whole tile; once asked for.
  std::optional<double> unit_room;
  std::atomic<std::int64_t> uploads = 0;
  std::atomic<std::int64_t> uploaded_bytes = 0;
  std::atomic<std::int64_t> downloads = 0;
  std::atomic<std::int64_t> downloaded_bytes = 0;
};

}  // namespace TESSERA_NAMESPACE::detail
