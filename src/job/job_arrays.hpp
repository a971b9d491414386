// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job/array_state.hpp"
#include "job/consensus/attempt.hpp"

#include <tessera/device/stream.hpp>
#include <tessera/job/device_staging.hpp>
#include <tessera/job/job.hpp>
#include <tessera/job/verdict.hpp>
#include <tessera/partition/plan.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::detail {

/// The arrays of a job: decides which stay in device memory, and copies them between host and devices. A
/// worker is the thread of a device's lane (`Job::State::worker_of`).
class JobArrays {
 public:
  explicit JobArrays(Job::State& job) : job_(job) {}

  /// Returns the array's number, equal on every rank.
  int add(ArrayState* array) {
    all_.push_back(array);
    return made_++;
  }
  void remove(const ArrayState* array) noexcept { std::erase(all_, array); }
  [[nodiscard]] std::vector<ArrayState*> distributed_by(const Plan& plan) const;

  /// Throws `Error(usage)` unless all arrays belong to this job and have `plan`, and none is written twice.
  void check(const Plan& plan, std::span<const ArrayAccess> used) const;
  /// Hash of the arrays' numbers, unit sizes, uses and versions, which must be equal on every rank.
  [[nodiscard]] static std::int64_t signature_of_use(std::span<const ArrayAccess> used);

  /// Call before a pass on devices: evicts other arrays from device memory (LRU) until the arrays of the pass
  /// fit the memory budgets, or decides to stream them. *Collective* if arrays are evicted.
  void make_room(const Plan& plan, const Job::Pass& work, const Attempt& attempt);
  /// Whether the pass copies its arrays in parts, because they exceed a device's budget.
  [[nodiscard]] bool streams() const noexcept { return streams_; }
  /// Device bytes per unit, by which tiles are divided into parts; 0: tiles are not divided.
  [[nodiscard]] std::int64_t bytes_per_unit(const Job::Pass& work) const;

  /// Call before the functions of a pass: allocates `next_host` if the pass writes there, and on hosts copies
  /// modified arrays to it.
  void begin(const Job::Pass& work, bool on_devices) const;
  /// On a worker's thread: allocates device memory for `units` of the pass's arrays, and uploads the input.
  /// Sets `stage` before each step, for reports of failures.
  void allocate_and_load(const Job::Pass& work, Range units, int worker, const DeviceContext& context,
                         std::string& stage);
  /// On a worker's thread of a streaming pass: downloads the written units to `ArrayState::next_host`.
  void store(const Job::Pass& work, Range units, int worker, const DeviceContext& context);
  /// On a worker's thread of a streaming pass, after its last part: frees the device memory.
  static void free_parts(const Job::Pass& work, int worker);
  /// Call before functions on the host: copies `units` of each modified array from `host` to `next_host`.
  static void start_next_on_host(const Job::Pass& work, Range units);
  /// Call after a successful vote: the output of the pass becomes the current version.
  void commit(const Job::Pass& work, bool on_devices);

  /// *Collective.* Downloads the arrays that are outdated on the host. If a device fails on any rank, no host
  /// version changes. Returns the first failure; `attempt` gets this rank's failures.
  [[nodiscard]] std::optional<Verdict::Failure> copy_to_hosts(std::span<ArrayState* const> wanted,
                                                              Attempt& attempt);
  [[nodiscard]] std::optional<Verdict::Failure> copy_all_to_hosts(Attempt& attempt) {
    if (all_.empty()) return std::nullopt;
    return copy_to_hosts(all_, attempt);
  }
  /// Downloads arrays that are outdated on the host, and frees device memory. False if a device fails. Throws
  /// if host memory runs out.
  [[nodiscard]] bool evict_all();
  void free_on_devices() noexcept {
    for (ArrayState* array : all_) array->free_on_devices();
  }
  /// Call after a change of the memory budgets.
  void reset_unit_room() noexcept {
    for (ArrayState* array : all_) array->unit_room.reset();
  }
  /// Makes the host's version of every array the current version.
  void roll_back();
  /// *Collective.* Redistributes arrays by plan `to`. The hosts must have the current versions.
  void move(std::span<ArrayState* const> moved, const Plan& to) const;

 private:
  void allocate(const Job::Pass& work, Range units, int worker, const DeviceContext& context);
  void load(const Job::Pass& work, Range units, int worker, const DeviceContext& context);
  /// Copies arrays from all devices to `ArrayState::next_host`, on the devices' threads.
  void download(std::span<ArrayState* const> arrays, Attempt& attempt);
  /// On a device's thread: copies the device's units to `ArrayState::next_host`.
  void download_copies(std::span<ArrayState* const> arrays, int device);
  [[nodiscard]] StreamView stream_of(int worker, const DeviceContext& context) const;
  [[nodiscard]] DeviceStaging& staging_of(int worker, const DeviceContext& context);
  /// The maximum over devices of the fraction of the memory budget that `copies` copies take.
  [[nodiscard]] double share_of(ArrayState& array, int copies) const;
  /// Sets `ArrayState::wanted` and `streams_` for a pass over `used`.
  void place(std::span<const ArrayAccess> used);
  /// Call after a successful vote: sets `held` to `wanted`.
  void commit_places(std::span<const ArrayAccess> used) const;

  Job::State& job_;
  std::vector<ArrayState*> all_;  ///< in order of construction
  int made_ = 0;
  bool streams_ = false;
};

}  // namespace TESSERA_NAMESPACE::detail
