// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/communicator.hpp>
#include <tessera/partition/plan.hpp>
#include <tessera/topology/claim.hpp>
#include <tessera/topology/score.hpp>
#include <tessera/version.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE {

/// A device of the job, with the rank that drives it. The same on every rank.
struct InventoryDevice {
  int rank = 0;
  int index = 0;  ///< index among the rank's claimed devices
  Uuid uuid;
  PciId pci;
  std::string name;
  ComputeCapability capability;
  int multiprocessors = 0;
  std::int64_t total_memory_bytes = 0;
  std::int64_t memory_budget_bytes = 0;  ///< this rank's share of the device's memory budget
  int numa_node = -1;
  int sharers = 1;
  bool simulated = false;
  /// Whether this entry stands for the rank's host threads (`JobOptions::hosts`). It is the rank's last
  /// device.
  bool host = false;
  std::uint64_t score = 0;  ///< score (relative speed) of this rank's share of the device
  /// Whether the device has failed, and is excluded from plans (`OnDeviceFailure::exclude`).
  bool excluded = false;

  /// See `DeviceInfo::has_host_memory`.
  [[nodiscard]] bool has_host_memory() const noexcept { return simulated || host; }
};

/// One rank of the job; the same on every rank.
struct InventoryRank {
  int rank = 0;
  int node = 0;
  std::string hostname;
  std::string cpuset;
  int allowed_cores = 0;
  int allowed_threads = 0;
  std::string absence;  ///< why the rank drives no GPU; empty if it drives one
  /// Number of threads that the rank could run if no other rank were on its node: `allowed_threads`, or fewer
  /// under a CPU quota.
  int usable_threads = 0;
  /// The rank's equal share of the cores and quotas that ranks of its node share, at least 1.
  int fair_threads = 0;
  std::string fair_threads_from;  ///< source of `fair_threads`: "its 8 hardware threads, shared by 2 ranks"
};

/// The claimed devices of all ranks with their scores, identical on every rank.
class TESSERA_EXPORT Inventory {
 public:
  Inventory() = default;
  Inventory(std::vector<InventoryRank> ranks, std::vector<InventoryDevice> devices);

  [[nodiscard]] std::span<const InventoryRank> ranks() const noexcept;
  /// All devices, by rank and then index.
  [[nodiscard]] std::span<const InventoryDevice> devices() const noexcept;
  /// The devices of one rank, by index. Throws `Error(usage)` for an unknown rank.
  [[nodiscard]] std::span<const InventoryDevice> devices_of(int rank) const;
  [[nodiscard]] int nodes() const noexcept { return nodes_; }
  /// GPUs that are not excluded; a GPU that several ranks drive counts once.
  [[nodiscard]] int gpus() const noexcept { return gpus_; }
  /// True if several ranks drive one GPU; `devices` then lists the GPU once per rank.
  [[nodiscard]] bool is_shared() const noexcept { return shared_; }

  /// Partitions units over the devices that are not excluded, in proportion to their scores; over the hosts
  /// of all ranks if there is no device. Deterministic: the same on every rank. Errors and cost: see
  /// `Plan::over_devices`.
  [[nodiscard]] Plan plan(std::int64_t units, const PlanOptions& options) const;
  [[nodiscard]] Plan plan(std::int64_t units, std::int64_t block = 1) const {
    return plan(units, PlanOptions{.block = block});
  }

 private:
  std::vector<InventoryRank> ranks_;
  std::vector<InventoryDevice> devices_;
  std::vector<std::int64_t> offsets_;
  int nodes_ = 0;
  int gpus_ = 0;
  bool shared_ = false;
};

/// *Collective.* Gathers the claims of all ranks. `scores` has the score of each of `claim.devices`; this
/// function divides the score of a shared device among its ranks. Long texts are truncated. Throws
/// `Error(usage)`, on every rank, if the numbers of scores and devices differ on any rank. Cost: one
/// allgather.
[[nodiscard]] TESSERA_EXPORT Inventory gather_inventory(const mpi::Communicator& comm, const Probe& probe,
                                                        const Claim& claim,
                                                        std::span<const std::uint64_t> scores);

}  // namespace TESSERA_NAMESPACE
