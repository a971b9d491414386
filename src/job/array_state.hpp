// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/array.hpp>
#include <tessera/memory/lease.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::inline TESSERA_ABI::detail {

/// An array on the host and the devices of this rank. In a pass each device's thread accesses its own copy,
/// and reads the rest.
class ArrayState {
 public:
  /// What one device has.
  struct DeviceCopy {
    Range units;
    MemoryLease current;
    MemoryLease next;                   ///< what a pass writes
    std::int64_t version = no_version;  ///< of `current`
    bool written = false;               ///< `next`, by the pass that runs
  };
  static constexpr std::int64_t no_version = -1;

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
  void forget_devices() noexcept { devices.clear(); }

  Job::State& job;
  int number;  ///< the same on every rank
  Plan plan;
  std::size_t unit_bytes;
  std::int64_t version = 0;
  std::int64_t host_version = 0;
  std::vector<std::byte> host;       ///< this rank's units
  std::vector<std::byte> next_host;  ///< what replaces it; empty in between
  std::vector<DeviceCopy> devices;   ///< by index among the claimed devices; empty on the CPU
  std::atomic<std::int64_t> uploads = 0;
  std::atomic<std::int64_t> uploaded_bytes = 0;
  std::atomic<std::int64_t> downloads = 0;
  std::atomic<std::int64_t> downloaded_bytes = 0;
};

}  // namespace tessera::inline TESSERA_ABI::detail
