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

/// Who drives which device of this machine, across the jobs of one user: locks on one file a device, which
/// the kernel gives up when the process that holds them ends, however it ends.
///
///     folder/claims         locked while a job claims: one claim at a time
///     folder/GPU-8932f937…  has slots; each driver of the device holds one, and says in it who it is
///
/// The locks are open-file-description locks (fcntl(2), Linux): two jobs of one process exclude each other
/// too. A slot is two bytes to lock, one for the leader of a claim, who reserves it, and one for the rank
/// that takes it over, so that at no moment it looks free.
namespace tessera::inline TESSERA_ABI::detail {

/// A driver of a device, as the others see it.
struct DeviceUser {
  bool shared = false;            ///< lets others drive the device, too
  std::int64_t budget_bytes = 0;  ///< of the device's memory
  std::int32_t pid = 0;
  std::string program;
};

/// "pid 4711 (tessera-fit)", or "another job of this process".
[[nodiscard]] std::string to_string(const DeviceUser& user);
/// This process, as a driver.
[[nodiscard]] DeviceUser this_user(bool shared, std::int64_t budget_bytes);

/// Where the files are: TESSERA_LOCK_DIR, or `tessera-UID` in /dev/shm, or in /tmp. Made if it is missing. It
/// depends on nothing that differs between two jobs of a user on a machine, as TMPDIR and
/// XDG_RUNTIME_DIR do. Throws `Error(job_fault)` if none of them can be used.
[[nodiscard]] std::filesystem::path lock_folder();

/// What a device's file is called. A real device goes by its UUID. A simulated one is one to the ranks of
/// one mpirun on one node alone: other runs have simulated devices of the same UUIDs, and all may rehearse.
[[nodiscard]] std::string lock_name(const DeviceInfo& device, std::string_view launch, std::string_view node);
/// What tells this mpirun from others on this machine: the launcher's name for it.
[[nodiscard]] std::string this_launch();

/// An open file whose locks are held until this goes, in the process that made it. One that was forked has
/// the same open file, and neither ends the locks nor keeps them.
class HeldLock {
 public:
  HeldLock() = default;
  explicit HeldLock(int file);
  HeldLock(HeldLock&& other) noexcept;
  HeldLock& operator=(HeldLock&& other) noexcept;
  ~HeldLock();
  [[nodiscard]] int file() const noexcept { return file_; }
  /// This process made it.
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

/// Another claim does not come to its end.
class ClaimInProgress : public Error {
 public:
  explicit ClaimInProgress(const std::string& message) : Error(ErrorCode::job_fault, message) {}
};

/// The right to claim on this machine: nobody else's claim changes who drives what while it lives.
class ClaimLock {
 public:
  /// Waits for a claim that is in progress, and calls `progress` a thousand times a second. Throws
  /// `ClaimInProgress` if it takes longer than `patience`, as a claim holds its lock for less than a
  /// millisecond: its process is stopped. Removes files of simulated devices that nobody drives.
  explicit ClaimLock(std::filesystem::path folder, const std::function<void()>& progress = {},
                     std::chrono::seconds patience = std::chrono::seconds(10));

  [[nodiscard]] std::vector<DeviceUser> users_of(const std::string& name) const;
  [[nodiscard]] ReservedSlot reserve(const std::string& name, const DeviceUser& user) const;

 private:
  std::filesystem::path folder_;
  HeldLock lock_;
};

/// Takes over a slot that the leader of this rank's claim has reserved. Null if somebody drives by it
/// already: the folder is not the leader's.
[[nodiscard]] std::shared_ptr<const void> take_slot(const std::filesystem::path& folder,
                                                    const std::string& name, int slot,
                                                    const DeviceUser& user);

}  // namespace tessera::inline TESSERA_ABI::detail
