// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job/collectives/nccl_library.hpp"
#include "job/consensus/alarm.hpp"
#include "job/consensus/vote.hpp"
#include "job/fault/fault.hpp"

#include <tessera/device/pool.hpp>
#include <tessera/topology/inventory.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE {

/// The parts of a job that its device collectives use. The job owns them; they outlive the collectives.
struct CollectiveParts {
  const mpi::Communicator* comm = nullptr;
  const Inventory* inventory = nullptr;
  DevicePool* pool = nullptr;
  const fault::Faults* faults = nullptr;
  /// Starts the job's turn on its devices, unless the job has it already; destroying the result ends the
  /// turn. Empty: there are no turns.
  std::function<std::shared_ptr<const void>()> begin_turn{};
  std::chrono::milliseconds timeout{};  ///< timeout of a vote and of an operation; 0: none
  std::function<std::unique_ptr<nccl::Library>()> open_nccl = nccl::open;
  /// Whether simulated devices use NCCL: for tests with a library that handles host memory.
  bool nccl_for_simulated = false;
};

/// A guard: its destructor binds this thread to the device that it is bound to now, and restores CUDA's
/// current context if this rank has a real device.
[[nodiscard]] std::shared_ptr<void> keep_current(const CollectiveParts& parts);

/// Calls `work(device, context)` for each remaining device of this rank in turn, with the device current. The
/// first exception becomes `failure`, with `stage`, and ends the loop. Does nothing if `failure` is set.
void on_each_device(const CollectiveParts& parts, const char* stage, std::optional<Verdict::Failure>& failure,
                    const std::function<void(int, DeviceContext&)>& work);

/// The index of a device among the remaining devices of the job, in inventory order.
[[nodiscard]] int number_of(const Inventory& inventory, int rank, int device);

/// The NCCL communicator of all devices of the job: this rank's members.
class NcclPath {
 public:
  /// *Collective.* Members are the remaining devices, numbered by `number_of`. If a device fails to join, all
  /// members leave: `joined` is then false, and `reason` is the same on every rank.
  NcclPath(const CollectiveParts& parts, BallotBox& ballots);
  ~NcclPath();
  NcclPath(const NcclPath&) = delete;
  NcclPath& operator=(const NcclPath&) = delete;

  [[nodiscard]] bool joined() const noexcept { return reason_.empty(); }
  /// Why the devices did not join, or have left.
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

  using Begin = std::function<void(nccl::Library&, nccl::Member, int device, StreamView)>;
  /// *Collective.* Submits one operation on each device, in one group, and waits for its completion. If the
  /// operation fails on any rank, all members leave the communicator, and all ranks return the same failure.
  [[nodiscard]] std::optional<Verdict::Failure> run(const char* what, const Begin& begin);

  /// Leaves the communicator at once. Not collective.
  void leave() noexcept;

 private:
  /// Whether a device of this rank is a member.
  [[nodiscard]] bool has_member() const;
  void join();
  /// Waits until `is_done` for each device, or until another rank raises the alarm or the timeout expires.
  void wait(const char* stage, std::chrono::milliseconds timeout, std::optional<Verdict::Failure>& failure,
            const std::function<bool(int, DeviceContext&)>& is_done);
  /// *Collective.* Returns the failure of the lowest rank that has one; then all members leave.
  std::optional<Verdict::Failure> agree(const char* what, const std::optional<Verdict::Failure>& mine);
  [[nodiscard]] std::string difference_of_versions() const;

  const CollectiveParts& parts_;
  BallotBox& ballots_;
  Alarm alarm_;
  std::unique_ptr<nccl::Library> library_;  // null on a rank without a member
  std::vector<nccl::Member> members_;       // handle of each claimed device; null for devices that were left
                                            // out
  std::string reason_;
};

}  // namespace TESSERA_NAMESPACE
