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

/// The existing arrays of a job: keeps track of which have device memory, and copies them between devices and
/// hosts, in passes and between passes. A worker is the thread of one lane of a device: see
/// `Job::State::worker_of`.
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
  [[nodiscard]] std::vector<ArrayState*> those_of(const Plan& plan) const;

  /// Throws `Error(usage)` unless all arrays are of this job and of `plan`, and none is written twice.
  void check(const Plan& plan, std::span<const ArrayAccess> used) const;
  /// A hash of the arrays, their use and their versions.
  [[nodiscard]] static std::int64_t signature_of_use(std::span<const ArrayAccess> used);

  /// Before a pass on devices: makes its arrays, or parts of them, fit the memory budgets. Other arrays are
  /// evicted from the devices, least recently used first. *Collective* if any are evicted.
  void make_room(const Plan& plan, const Job::Pass& work, const Attempt& attempt);
  /// Whether the arrays of this pass do not fit on some device, and are therefore copied in parts.
  [[nodiscard]] bool streams() const noexcept { return streams_; }
  /// Device bytes per unit if tiles are processed in parts of whole blocks; 0 if whole tiles fit.
  [[nodiscard]] std::int64_t bytes_per_unit(const Job::Pass& work) const;

  /// Prepares arrays before the functions of a pass.
  void begin(const Job::Pass& work, bool on_devices) const;
  /// On a worker's thread: allocates memory for `units` of the arrays of a pass, and fills it. `stage` is set
  /// to the stage that a failure would have.
  void bring(const Job::Pass& work, Range units, int worker, const DeviceContext& context,
             std::string& stage);
  /// On a worker's thread, in a pass that streams its arrays: copies the part's written units to
  /// `ArrayState::next_host`.
  void store(const Job::Pass& work, Range units, int worker, const DeviceContext& context);
  /// On a worker's thread, after the last part of a pass that streams its arrays: frees the parts.
  static void return_parts(const Job::Pass& work, int worker);
  /// Before a pass on the host: initialises the next versions of arrays that it modifies with the last ones.
  static void start_next_on_host(const Job::Pass& work, Range units);
  /// After the verdict: makes the versions that the pass wrote the last versions.
  void commit(const Job::Pass& work, bool on_devices);

  /// *Collective.* Copies the last versions to hosts with stale ones: of all arrays on all ranks, or of none
  /// if a device fails. Returns the first failure, and adds this rank's failures to `attempt`.
  [[nodiscard]] std::optional<Verdict::Failure> bring_home(std::span<ArrayState* const> wanted,
                                                           Attempt& attempt);
  /// *Collective.* `bring_home` for all arrays of the job.
  [[nodiscard]] std::optional<Verdict::Failure> bring_all_home(Attempt& attempt) {
    if (all_.empty()) return std::nullopt;
    return bring_home(all_, attempt);
  }
  /// Copies stale versions to the host, and returns the memory on the devices. False if a device fails.
  /// Throws if host memory runs out.
  [[nodiscard]] bool leave_devices();
  void forget_devices() noexcept {
    for (ArrayState* array : all_) array->forget_devices();
  }
  /// Invalidates `ArrayState::unit_room` because the memory budgets have changed.
  void forget_room() noexcept {
    for (ArrayState* array : all_) array->unit_room.reset();
  }
  /// Returns all arrays to the hosts' versions.
  void roll_back();
  /// *Collective.* Redistributes arrays, whose last versions are on the hosts, by `to`.
  void move(std::span<ArrayState* const> moved, const Plan& to) const;

 private:
  void allocate(const Job::Pass& work, Range units, int worker, const DeviceContext& context);
  void load(const Job::Pass& work, Range units, int worker, const DeviceContext& context);
  /// Downloads the arrays to `ArrayState::next_host`, on the devices' threads.
  void download(std::span<ArrayState* const> stale, Attempt& attempt);
  /// On a device's thread: copies its part of the last versions to `ArrayState::next_host`.
  void download_copies(std::span<ArrayState* const> stale, int device);
  [[nodiscard]] StreamView stream_of(int worker, const DeviceContext& context) const;
  [[nodiscard]] DeviceStaging& staging_of(int worker, const DeviceContext& context);
  /// The fraction of a device's memory budget that `copies` copies of an array take: the largest over all
  /// devices.
  [[nodiscard]] double share_of(ArrayState& array, int copies) const;
  /// Decides which arrays have device memory in a pass over `used`: `ArrayState::wanted`, and `streams`.
  void place(std::span<const ArrayAccess> used);
  /// Applies these decisions, after the verdict.
  void commit_places(std::span<const ArrayAccess> used) const;

  Job::State& job_;
  std::vector<ArrayState*> all_;  ///< the job's arrays, in the order of their construction
  int made_ = 0;
  bool streams_ = false;
};

}  // namespace TESSERA_NAMESPACE::detail
