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

/// The arrays of a job: decides which are kept in device memory, and copies them between host and devices. A
/// worker is the thread of one lane of a device: see `Job::State::worker_of`.
class JobArrays {
 public:
  explicit JobArrays(Job::State& job) : job_(job) {}

  /// Returns the array's number, the same on every rank.
  int add(ArrayState* array) {
    all_.push_back(array);
    return made_++;
  }
  void remove(const ArrayState* array) noexcept { std::erase(all_, array); }
  /// The arrays that are distributed by `plan`.
  [[nodiscard]] std::vector<ArrayState*> distributed_by(const Plan& plan) const;

  /// Throws `Error(usage)` unless all arrays belong to this job and use `plan`, and none is written twice.
  void check(const Plan& plan, std::span<const ArrayAccess> used) const;
  /// A hash of the numbers, uses and versions of the arrays, which must be the same on every rank.
  [[nodiscard]] static std::int64_t signature_of_use(std::span<const ArrayAccess> used);

  /// Call before a pass on devices: evicts other arrays from device memory, least recently used first, until
  /// the arrays of the pass, or parts of them, fit the memory budgets. *Collective* if any are evicted.
  void make_room(const Plan& plan, const Job::Pass& work, const Attempt& attempt);
  /// Whether this pass copies its arrays in parts, because they do not fit on some device.
  [[nodiscard]] bool streams() const noexcept { return streams_; }
  /// Device bytes per unit if tiles are processed in parts of whole blocks; 0 if whole tiles fit.
  [[nodiscard]] std::int64_t bytes_per_unit(const Job::Pass& work) const;

  /// Call before the functions of a pass: allocates the next versions on the host where the pass needs them.
  void begin(const Job::Pass& work, bool on_devices) const;
  /// On a worker's thread: allocates device memory for `units` of the arrays of a pass, and copies their
  /// input there. Sets `stage` to the stage of a possible failure.
  void allocate_and_load(const Job::Pass& work, Range units, int worker, const DeviceContext& context,
                         std::string& stage);
  /// On a worker's thread, if the pass streams its arrays: copies the units that the part has written to
  /// `ArrayState::next_host`.
  void store(const Job::Pass& work, Range units, int worker, const DeviceContext& context);
  /// On a worker's thread, after its last part, if the pass streams its arrays: frees the device memory.
  static void free_parts(const Job::Pass& work, int worker);
  /// Call before a pass on the host: copies the last version of each modified array to its next version.
  static void start_next_on_host(const Job::Pass& work, Range units);
  /// Call after a successful verdict: what the pass has written becomes the last version.
  void commit(const Job::Pass& work, bool on_devices);

  /// *Collective.* Device-to-host copies of the arrays whose host version is outdated. If a device fails on
  /// any rank, no rank's host version changes. Returns the first failure; `attempt` gets this rank's
  /// failures.
  [[nodiscard]] std::optional<Verdict::Failure> copy_to_hosts(std::span<ArrayState* const> wanted,
                                                              Attempt& attempt);
  /// *Collective.* `copy_to_hosts` for all arrays of the job.
  [[nodiscard]] std::optional<Verdict::Failure> copy_all_to_hosts(Attempt& attempt) {
    if (all_.empty()) return std::nullopt;
    return copy_to_hosts(all_, attempt);
  }
  /// Copies arrays to the host where its version is outdated, then frees their device memory. False if a
  /// device fails. Throws if host memory runs out.
  [[nodiscard]] bool evict_all();
  void free_on_devices() noexcept {
    for (ArrayState* array : all_) array->free_on_devices();
  }
  /// Call when the memory budgets have changed: `ArrayState::unit_room` is computed again.
  void reset_unit_room() noexcept {
    for (ArrayState* array : all_) array->unit_room.reset();
  }
  /// Makes the host's version of every array the last version.
  void roll_back();
  /// *Collective.* Redistributes arrays by the plan `to`. Their last versions must be on the hosts.
  void move(std::span<ArrayState* const> moved, const Plan& to) const;

 private:
  void allocate(const Job::Pass& work, Range units, int worker, const DeviceContext& context);
  void load(const Job::Pass& work, Range units, int worker, const DeviceContext& context);
  /// Copies the arrays from all devices to `ArrayState::next_host`, on the devices' threads.
  void download(std::span<ArrayState* const> arrays, Attempt& attempt);
  /// On a device's thread: copies the units of that device to `ArrayState::next_host`.
  void download_copies(std::span<ArrayState* const> arrays, int device);
  [[nodiscard]] StreamView stream_of(int worker, const DeviceContext& context) const;
  [[nodiscard]] DeviceStaging& staging_of(int worker, const DeviceContext& context);
  /// The largest fraction of a device's memory budget that `copies` copies of an array take, over all
  /// devices.
  [[nodiscard]] double share_of(ArrayState& array, int copies) const;
  /// Sets `ArrayState::wanted` and `streams` for a pass over `used`.
  void place(std::span<const ArrayAccess> used);
  /// Call after the verdict: `ArrayState::wanted` becomes `ArrayState::held`.
  void commit_places(std::span<const ArrayAccess> used) const;

  Job::State& job_;
  std::vector<ArrayState*> all_;  ///< arrays in the order of their construction
  int made_ = 0;
  bool streams_ = false;
};

}  // namespace TESSERA_NAMESPACE::detail
