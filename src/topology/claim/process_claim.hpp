// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "topology/claim/device_locks.hpp"

#include <tessera/function.hpp>
#include <tessera/topology/device_info.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

/// State shared by the serial jobs (jobs of serial communicators) of a process: turns on devices, and one
/// lock of each device, which the first job acquires and the last releases.
///
///     claiming   one job claims devices at a time (`ProcessClaiming`)
///     a turn     one job uses a device at a time, first come, first served (`ProcessClaim`)
///
/// A forked child starts without its parent's state.
namespace TESSERA_NAMESPACE::detail {

class ProcessClaim;

/// A device that serial jobs of this process have claimed.
struct ProcessDevice {
  Uuid uuid;
  int slot = -1;                     ///< slot in the lock file; -1: not locked
  DeviceUser user;                   ///< record in the slot
  std::int64_t free_bytes = 0;       ///< free device memory before the first job
  std::shared_ptr<const void> lock;  ///< lock of the slot
  int jobs = 0;
  const ProcessClaim* in_turn = nullptr;
  const ProcessClaim* keeper = nullptr;  ///< job that keeps data on the device between turns
  std::int64_t kept_bytes = 0;           ///< maximum bytes of `keeper`
};

struct ProcessDevices;

/// The devices of a serial job and its turns on them. Not thread-safe.
class ProcessClaim {
 public:
  struct Part {
    ProcessDevice* device = nullptr;
    std::int64_t budget_bytes = 0;
  };

  ProcessClaim(ProcessDevices& all, std::vector<Part> parts);
  /// Ends the job's turn. A device's last job releases the device's lock. No effect in a forked child.
  ~ProcessClaim();
  ProcessClaim(const ProcessClaim&) = delete;
  ProcessClaim& operator=(const ProcessClaim&) = delete;

  /// Waits until all devices are free, first come, first served among jobs that share a device. Calls
  /// `between` fifty times a second; an exception ends the wait. Throws `Error(usage)` if the wait could
  /// deadlock because this thread has another job's turn.
  void begin_turn(FunctionRef<void()> between);
  /// `keeps`: the job's data stay in device memory, within its budget.
  void end_turn(bool keeps) noexcept;
  [[nodiscard]] bool has_turn() const noexcept { return has_turn_; }

  /// Whether another job has claimed one of the devices.
  [[nodiscard]] bool is_shared() const;
  /// Device memory that the job may use in this turn: its budget, or less if another job keeps data on the
  /// device.
  [[nodiscard]] std::int64_t budget_left(const Uuid& device) const;

 private:
  [[nodiscard]] bool may_begin() const;
  [[nodiscard]] bool overlaps(const ProcessClaim& other) const;

  ProcessDevices& all_;
  std::vector<Part> parts_;
  bool has_turn_ = false;
  std::uint64_t thread_ = 0;  ///< thread of the turn
};

/// Holds the process's claim lock: other serial jobs that claim or release devices wait.
class ProcessClaiming {
 public:
  ProcessClaiming();

  /// Null if no serial job of this process uses the device.
  [[nodiscard]] ProcessDevice* find(const std::string& lock_name) const;
  /// The device must be new in this process.
  [[nodiscard]] ProcessDevice* add(const std::string& lock_name, ProcessDevice device) const;
  /// Creates a job's claim on these devices.
  [[nodiscard]] std::shared_ptr<ProcessClaim> join(std::vector<ProcessClaim::Part> parts) const;

 private:
  ProcessDevices& all_;
  std::unique_lock<std::mutex> lock_;
};

}  // namespace TESSERA_NAMESPACE::detail
