// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/error.hpp>
#include <tessera/topology/device_info.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// Records which devices of this machine the jobs of one user use, in a file with locks per device. The
/// kernel releases a process's locks when the process ends in any way.
///
///     folder/claims         locked while a job claims devices, to serialise claims
///     folder/GPU-8932f937…  slots: each process that uses the device locks one slot, which has its record
///
/// Open-file-description locks (fcntl(2), Linux) exclude two jobs of one process too. A slot has two bytes to
/// lock: the leader of a claim (the node's first rank) locks the first to reserve the slot; the rank then
/// locks the second. At least one of both is locked while the slot is in use.
namespace TESSERA_NAMESPACE::detail {

/// The record in a slot: a process that uses the device.
struct DeviceUser {
  bool shared = false;            ///< whether other jobs may share the device
  std::int64_t budget_bytes = 0;  ///< device memory that the process may use
  std::int32_t pid = 0;
  std::string program;
};

/// "pid 4711 (tessera-fit)", or "another job of this process".
[[nodiscard]] std::string to_string(const DeviceUser& user);
[[nodiscard]] DeviceUser this_user(bool shared, std::int64_t budget_bytes);

/// The folder of the lock files, created if missing: TESSERA_LOCK_DIR, else `tessera-UID` in /dev/shm or
/// /tmp. All jobs of a user on a machine must use the same folder, so TMPDIR and XDG_RUNTIME_DIR are ignored.
/// Throws `Error(job_fault)` if no folder can be used.
[[nodiscard]] std::filesystem::path lock_folder();

/// The name of a device's lock file: the UUID. The name for a simulated device includes launch and node,
/// because other runs simulate devices with the same UUIDs.
[[nodiscard]] std::string lock_name(const DeviceInfo& device, std::string_view launch, std::string_view node);
/// The launcher's identifier of this run, unique on this machine.
[[nodiscard]] std::string this_launch();

/// RAII owner of an open file and its locks. A forked child shares the open file, but neither releases nor
/// keeps the locks.
class HeldLock {
 public:
  HeldLock() = default;
  explicit HeldLock(int file);
  HeldLock(HeldLock&& other) noexcept;
  HeldLock& operator=(HeldLock&& other) noexcept;
  ~HeldLock();
  [[nodiscard]] int file() const noexcept { return file_; }
  /// Whether this process created the object.
  [[nodiscard]] bool is_own() const noexcept;
  void release() noexcept;

 private:
  int file_ = -1;
  std::int32_t process_ = 0;
};

/// A slot that a claim has reserved.
struct ReservedSlot {
  int slot = -1;
  HeldLock lock;
};

/// Thrown if another claim does not finish in time.
class ClaimInProgress : public Error {
 public:
  explicit ClaimInProgress(const std::string& message) : Error(ErrorCode::job_fault, message) {}
};

/// Serialises claims on this machine.
class ClaimLock {
 public:
  /// Waits for a claim in progress, and runs the progress callback a thousand times a second. Throws
  /// `ClaimInProgress` after `patience`: a claim takes less than a millisecond, so the other process hangs or
  /// is suspended. Removes unused files of simulated devices.
  explicit ClaimLock(std::filesystem::path folder, const std::function<void()>& progress = {},
                     std::chrono::seconds patience = std::chrono::seconds(10));

  /// The processes that use a device, except the process in slot `except`.
  [[nodiscard]] std::vector<DeviceUser> users_of(const std::string& name, int except = -1) const;
  [[nodiscard]] ReservedSlot reserve(const std::string& name, const DeviceUser& user) const;

 private:
  std::filesystem::path folder_;
  HeldLock lock_;
};

/// Locks a slot that the leader of the claim has reserved for this rank. Null if another process uses the
/// slot, which happens if this rank's lock folder is not the leader's.
[[nodiscard]] std::shared_ptr<const void> take_slot(const std::filesystem::path& folder,
                                                    const std::string& name, int slot,
                                                    const DeviceUser& user);
/// Replaces the record of a slot of this process.
void describe_slot(const std::filesystem::path& folder, const std::string& name, int slot,
                   const DeviceUser& user);

}  // namespace TESSERA_NAMESPACE::detail
