// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/context.hpp>
#include <tessera/held.hpp>
#include <tessera/version.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE {

/// This rank's devices, highest score first, each opened at first use.
///
///     for (std::size_t i = 0; i < pool.size(); ++i) use(pool.context_at(i));
///
/// Each device is opened once; different devices can be opened in parallel. All members are thread-safe. A
/// lookup in an empty pool, by an index out of range, or by an ordinal that is not in the pool throws
/// `Error(usage)` that names the argument and what the pool has.
class TESSERA_EXPORT DevicePool {
 public:
  /// One device that this rank drives.
  struct Entry {
    DeviceInfo info;
    Ordinal ordinal{};  ///< CUDA index in this process; simulated devices count from 0 too; -1: the host
    std::uint64_t score = 0;
    int claim_index = 0;  ///< index among the rank's claimed devices
  };

  DevicePool();
  /// `modules` caches the devices' kernels; null: a new cache.
  explicit DevicePool(std::vector<Entry> entries, std::shared_ptr<ModuleCache> modules = nullptr);
  ~DevicePool();
  DevicePool(DevicePool&&) noexcept;
  DevicePool& operator=(DevicePool&&) noexcept;

  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  /// Ordinals, highest score first; ties to the lower claim index.
  [[nodiscard]] std::vector<Ordinal> ordinals() const;
  /// Entries, highest score first.
  [[nodiscard]] std::span<const Entry> entries() const noexcept;
  [[nodiscard]] auto begin() const noexcept { return entries().begin(); }
  [[nodiscard]] auto end() const noexcept { return entries().end(); }

  /// Properties of a device, complete only after it was opened (see `DeviceInfo`). Valid as long as the pool.
  [[nodiscard]] const DeviceInfo& device_at(std::size_t index) const;
  /// Opens the device if it is not open. Blocks for a tenth of a second or more the first time. Throws
  /// `Error(job_fault)` if the device cannot be opened; the next call tries again.
  [[nodiscard]] DeviceContext& context_at(std::size_t index);
  [[nodiscard]] DeviceContext& context_of(Ordinal ordinal);
  /// `DeviceInfo::memory_budget_bytes` of the device, from the probe of the hardware.
  [[nodiscard]] std::int64_t memory_budget_bytes(Ordinal ordinal) const;

  /// Returns the next device in turn (round robin), to distribute independent work. Skips the host
  /// (`JobOptions::hosts`) and devices that the job has excluded (`OnDeviceFailure::exclude`). Throws
  /// `Error(usage)` if no device is left.
  [[nodiscard]] Ordinal next_device();
  /// Among the devices of `next_device`, the one with the most free memory: now for open devices, at the
  /// probe of the hardware for others. Ties go to the higher score.
  [[nodiscard]] Ordinal most_free_memory();

  /// Excludes a device from `next_device` and `most_free_memory`. Its context stays open.
  void leave_out(int claim_index) noexcept;

 private:
  struct State;
  detail::Held<std::unique_ptr<State>, "DevicePool"> state_;
};

}  // namespace TESSERA_NAMESPACE
