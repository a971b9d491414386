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

/// The parts of a job that its device collectives use. The job owns them, and outlives the collectives.
struct CollectiveParts {
  const mpi::Communicator* comm = nullptr;
  const Inventory* inventory = nullptr;
  DevicePool* pool = nullptr;
  const fault::Faults* faults = nullptr;
  /// Begins the job's turn on its devices, until the result is destroyed. Empty: no turns.
  std::function<std::shared_ptr<const void>()> begin_turn{};
  std::chrono::milliseconds timeout{};  ///< timeout of votes and operations; 0: no limit
  std::function<std::unique_ptr<nccl::Library>()> open_nccl = nccl::open;
  /// Whether simulated devices use NCCL, for tests with a fake library.
  bool nccl_for_simulated = false;
};

/// A guard whose destructor restores this thread's bound device and, if this rank has a real device, CUDA's
/// current context.
[[nodiscard]] std::shared_ptr<void> keep_current(const CollectiveParts& parts);

/// Calls `work(device, context)` for each remaining device of this rank, with the device current. The first
/// exception sets `failure`, with `stage`, and ends the loop. Does nothing if `failure` is set.
void on_each_device(const CollectiveParts& parts, const char* stage, std::optional<Verdict::Failure>& failure,
                    const std::function<void(int, DeviceContext&)>& work);

/// The device's index among the job's remaining devices, in inventory order.
[[nodiscard]] int number_of(const Inventory& inventory, int rank, int device);

/// This rank's members of the NCCL communicator of all devices of the job.
class NcclPath {
 public:
  /// *Collective.* Members are the remaining devices, numbered by `number_of`. If a device fails to join, all
  /// members leave; `joined` is then false, and `reason` equal on every rank.
  NcclPath(const CollectiveParts& parts, BallotBox& ballots);
  ~NcclPath();
  NcclPath(const NcclPath&) = delete;
  NcclPath& operator=(const NcclPath&) = delete;

  [[nodiscard]] bool joined() const noexcept { return reason_.empty(); }
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

  using Begin = std::function<void(nccl::Library&, nccl::Member, int device, StreamView)>;
  /// *Collective.* Submits one operation per device, in one group, and waits for completion. If the operation
  /// fails on any rank, all members leave, and all ranks return the same failure.
  [[nodiscard]] std::optional<Verdict::Failure> run(const char* what, const Begin& begin);

  /// Leaves the communicator. Not collective.
  void leave() noexcept;

 private:
  [[nodiscard]] bool has_member() const;
  void join();
  /// Waits until `is_done` on each device, an alarm of another rank, or the timeout.
  void wait(const char* stage, std::chrono::milliseconds timeout, std::optional<Verdict::Failure>& failure,
            const std::function<bool(int, DeviceContext&)>& is_done);
  /// *Collective.* Returns the failure of the lowest rank that has one. On a failure, all members leave.
  std::optional<Verdict::Failure> agree(const char* what, const std::optional<Verdict::Failure>& mine);
  [[nodiscard]] std::string difference_of_versions() const;

  const CollectiveParts& parts_;
  BallotBox& ballots_;
  Alarm alarm_;
  std::unique_ptr<nccl::Library> library_;  // null on a rank without a remaining device or without NCCL
  std::vector<nccl::Member> members_;       // by claimed device; null if excluded, and after `leave`
  std::string reason_;
};

}  // namespace TESSERA_NAMESPACE
