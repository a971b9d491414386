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

/// Records which devices of this machine the jobs of one user are using: one file with locks per device. The
/// kernel releases a lock when its process ends, however it ends.
///
///     folder/claims         locked while a job claims devices, to serialise claims
///     folder/GPU-8932f937…  slots: each process that uses the device holds one, with its record in it
///
/// The locks are open-file-description locks (fcntl(2), Linux), which exclude two jobs of one process too. A
/// slot has two bytes to lock: the leader of a claim locks one to reserve the slot, and the rank that takes
/// the slot over locks the other, so that at any time one of them is locked.
namespace TESSERA_NAMESPACE::detail {

/// A process that uses a device, as its slot records it.
struct DeviceUser {
  bool shared = false;            ///< whether other jobs may share the device
  std::int64_t budget_bytes = 0;  ///< device memory that it may use
  std::int32_t pid = 0;
  std::string program;
};

/// "pid 4711 (tessera-fit)", or "another job of this process".
[[nodiscard]] std::string to_string(const DeviceUser& user);
/// This process, as the user of a device.
[[nodiscard]] DeviceUser this_user(bool shared, std::int64_t budget_bytes);

/// The folder of the files: TESSERA_LOCK_DIR, or `tessera-UID` in /dev/shm, or in /tmp. Created if it is
/// missing. It must be the same for all jobs of a user on a machine, so it does not depend on TMPDIR or
/// XDG_RUNTIME_DIR. Throws `Error(job_fault)` if none of them can be used.
[[nodiscard]] std::filesystem::path lock_folder();

/// The name of a device's file: the UUID of a real device. The name for a simulated device includes launch
/// and node, since other runs simulate devices with the same UUIDs.
[[nodiscard]] std::string lock_name(const DeviceInfo& device, std::string_view launch, std::string_view node);
/// The launcher's identifier of this mpirun, unique on this machine.
[[nodiscard]] std::string this_launch();

/// An open file whose locks are released by the destructor, in the process that created it. A forked child
/// shares the open file, but neither releases nor keeps the locks.
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
  void let_go() noexcept;

 private:
  int file_ = -1;
  std::int32_t process_ = 0;
};

/// A slot that a claim has reserved.
struct ReservedSlot {
  int slot = -1;
  HeldLock lock;
};

/// An error: another claim did not finish in time.
class ClaimInProgress : public Error {
 public:
  explicit ClaimInProgress(const std::string& message) : Error(ErrorCode::job_fault, message) {}
};

/// The lock of this machine that serialises claims.
class ClaimLock {
 public:
  /// Waits for a claim in progress, and runs the progress callback a thousand times a second. Throws
  /// `ClaimInProgress` after `patience`: as a claim takes less than a millisecond, the other process must be
  /// stopped. Removes files of simulated devices that nobody uses.
  explicit ClaimLock(std::filesystem::path folder, const std::function<void()>& progress = {},
                     std::chrono::seconds patience = std::chrono::seconds(10));

  /// The processes that use a device, except the process in slot `except`.
  [[nodiscard]] std::vector<DeviceUser> users_of(const std::string& name, int except = -1) const;
  [[nodiscard]] ReservedSlot reserve(const std::string& name, const DeviceUser& user) const;

 private:
  std::filesystem::path folder_;
  HeldLock lock_;
};

/// Takes over a slot that the leader of this rank's claim has reserved. Null if another process uses the slot
/// already, which happens if this rank's lock folder is not the leader's.
[[nodiscard]] std::shared_ptr<const void> take_slot(const std::filesystem::path& folder,
                                                    const std::string& name, int slot,
                                                    const DeviceUser& user);
/// Replaces the record of a slot that this process has taken.
void describe_slot(const std::filesystem::path& folder, const std::string& name, int slot,
                   const DeviceUser& user);

}  // namespace TESSERA_NAMESPACE::detail
