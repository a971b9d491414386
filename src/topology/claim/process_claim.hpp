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

/// State that the jobs of serial communicators in one process share: turns on the devices, and the lock of
/// each device, which the first such job takes and the last releases.
///
///     claiming   one of these jobs claims devices at a time (`ProcessClaiming`)
///     a turn     one of them uses a device at a time, first come, first served (`ProcessClaim`)
///
/// A forked child has none of its parent's state.
namespace TESSERA_NAMESPACE::detail {

class ProcessClaim;

/// A device that serial jobs of this process have claimed.
struct ProcessDevice {
  Uuid uuid;
  int slot = -1;                     ///< slot in the lock file; -1: the claim is unguarded
  DeviceUser user;                   ///< user recorded in that slot
  std::int64_t free_bytes = 0;       ///< free device memory before the first of the jobs used it
  std::shared_ptr<const void> lock;  ///< lock of the slot
  int jobs = 0;
  const ProcessClaim* in_turn = nullptr;
  const ProcessClaim* keeper = nullptr;  ///< the job that keeps data on the device between its turns
  std::int64_t kept_bytes = 0;           ///< maximum bytes that it keeps
};

/// The devices of this process, and its queue for turns.
struct ProcessDevices;

/// The devices of a serial job, and its turns on them. Used by one thread at a time, like the job.
class ProcessClaim {
 public:
  struct Part {
    ProcessDevice* device = nullptr;
    std::int64_t budget_bytes = 0;  ///< device memory that this job may use
  };

  ProcessClaim(ProcessDevices& all, std::vector<Part> parts);
  /// Ends the job's turn, if any; a device's last job releases the device's lock. No effect in a forked
  /// child.
  ~ProcessClaim();
  ProcessClaim(const ProcessClaim&) = delete;
  ProcessClaim& operator=(const ProcessClaim&) = delete;

  /// Waits until none of the devices is in another job's turn, and no job that shares one of them has waited
  /// longer. Calls `between` fifty times a second meanwhile; its exception ends the wait. Throws
  /// `Error(usage)` instead of waiting if this thread has another job's turn: it could wait for itself.
  void begin_turn(FunctionRef<void()> between);
  /// `keeps`: the job's data stay in device memory, within its budget.
  void end_turn(bool keeps) noexcept;
  [[nodiscard]] bool has_turn() const noexcept { return has_turn_; }

  /// Whether another job has claimed one of the devices.
  [[nodiscard]] bool is_shared() const;
  /// Call in a turn: the device memory that the job may use now. That is its budget, or less while another
  /// job keeps data on the device.
  [[nodiscard]] std::int64_t budget_left(const Uuid& device) const;

 private:
  [[nodiscard]] bool may_begin() const;
  [[nodiscard]] bool overlaps(const ProcessClaim& other) const;

  ProcessDevices& all_;
  std::vector<Part> parts_;
  bool has_turn_ = false;
  std::uint64_t thread_ = 0;  ///< thread that has the turn
};

/// Claims devices for a serial job; others that claim or release devices wait meanwhile.
class ProcessClaiming {
 public:
  ProcessClaiming();

  /// The device with this lock file if serial jobs of this process use it, else null.
  [[nodiscard]] ProcessDevice* find(const std::string& lock_name) const;
  /// Adds a device that no job of this process has.
  [[nodiscard]] ProcessDevice* add(const std::string& lock_name, ProcessDevice device) const;
  /// Creates the claim of another job on these devices.
  [[nodiscard]] std::shared_ptr<ProcessClaim> join(std::vector<ProcessClaim::Part> parts) const;

 private:
  ProcessDevices& all_;
  std::unique_lock<std::mutex> lock_;
};

}  // namespace TESSERA_NAMESPACE::detail
