// SPDX-License-Identifier: Apache-2.0
#include <tessera/error.hpp>
#include <tessera/topology/inventory.hpp>

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

#include "base/message.hpp"
#include "topology/hwloc/share_cores.hpp"
#include "topology/remaining_devices.hpp"

namespace TESSERA_NAMESPACE {
namespace {

constexpr std::size_t longest_name = 71;
constexpr std::size_t longest_text = 255;

struct SentQuota {
  double cores = 0;
  CgroupId group;
};

struct SentDevice : InventoryDevice {
  void members(const auto& to) {
    to(rank, index, uuid, pci, name, capability, multiprocessors, total_memory_bytes, memory_budget_bytes,
       numa_node, sharers, simulated, host, score);
  }
};

/// A rank's data as sent to other ranks.
struct SentRank : InventoryRank {
  std::vector<SentQuota> quotas;
  std::vector<SentDevice> devices;
  /// Usage error on this rank, which all ranks report.
  bool scores_missing = false;

  void members(const auto& to) {
    to(rank, node, hostname, cpuset, allowed_cores, allowed_threads, absence, quotas, devices,
       scores_missing);
  }
};

SentRank sent_rank(int rank, const HostInfo& host, const Claim& claim) {
  SentRank sent;
  sent.rank = rank;
  sent.node = claim.node;
  sent.hostname = host.hostname.substr(0, longest_name);
  sent.cpuset = host.allowed_cpuset.substr(0, longest_text);
  sent.allowed_cores = host.allowed_cores;
  sent.allowed_threads = host.allowed_threads;
  if (claim.absence) sent.absence = claim.absence->message.substr(0, longest_text);
  for (const CpuQuota& quota : host.cpu_quotas) sent.quotas.push_back({quota.cores, quota.group});
  return sent;
}

SentDevice sent_device(int rank, int index, const ClaimedDevice& device, std::uint64_t score) {
  const DeviceInfo& info = device.info;
  SentDevice sent;
  sent.rank = rank;
  sent.index = index;
  sent.uuid = info.uuid;
  sent.pci = info.pci;
  sent.name = info.name.substr(0, longest_name);
  sent.capability = info.capability;
  sent.multiprocessors = info.multiprocessors;
  sent.total_memory_bytes = info.total_memory_bytes;
  sent.memory_budget_bytes = device.memory_budget_bytes();
  sent.numa_node = info.numa_node;
  sent.sharers = std::max(device.sharers, 1);
  sent.simulated = info.simulated;
  sent.host = info.host;
  // Rounding must not turn a positive score into 0.
  sent.score = score == 0 ? 0 : std::max<std::uint64_t>(score / static_cast<std::uint64_t>(sent.sharers), 1);
  return sent;
}

void share_out(std::vector<InventoryRank>& ranks, std::span<const detail::RankCores> cores) {
  const auto shares = detail::share_cores(cores);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    ranks[r].usable_threads = shares[r].usable;
    ranks[r].fair_threads = shares[r].fair;
    ranks[r].fair_threads_from = shares[r].from;
  }
}

}  // namespace

Inventory::Inventory(std::vector<InventoryRank> ranks, std::vector<InventoryDevice> devices)
    : ranks_(std::move(ranks)), devices_(std::move(devices)), offsets_(ranks_.size() + 1, 0) {
  std::sort(devices_.begin(), devices_.end(), [](const InventoryDevice& a, const InventoryDevice& b) {
    return std::tie(a.rank, a.index) < std::tie(b.rank, b.index);
  });
  for (const auto& rank : ranks_) nodes_ = std::max(nodes_, rank.node + 1);
  for (const auto& device : devices_) {
    if (device.rank < 0 || static_cast<std::size_t>(device.rank) >= ranks_.size())
      throw Error(ErrorCode::usage, "Inventory: device " + to_string(device.uuid) + " is listed for rank " +
                                        std::to_string(device.rank) + ", but there are only " +
                                        std::to_string(ranks_.size()) + " ranks");
    ++offsets_[static_cast<std::size_t>(device.rank) + 1];
  }
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) offsets_[rank + 1] += offsets_[rank];
  std::vector<std::pair<Uuid, bool>> gpus;  // for each share of a GPU: the UUID, and whether the share is
                                            // excluded; sorted, so that excluded shares of a GPU come last
  for (const auto& device : devices_)
    if (!device.host) gpus.emplace_back(device.uuid, device.excluded);
  std::ranges::sort(gpus);
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const bool again = i > 0 && gpus[i].first == gpus[i - 1].first;
    shared_ = shared_ || again;
    if (!again && !gpus[i].second) ++gpus_;
  }
}

std::span<const InventoryRank> Inventory::ranks() const noexcept {
  return ranks_;
}
std::span<const InventoryDevice> Inventory::devices() const noexcept {
  return devices_;
}

std::span<const InventoryDevice> Inventory::devices_of(int rank) const {
  if (rank < 0 || static_cast<std::size_t>(rank) >= ranks_.size())
    throw Error(ErrorCode::usage, "Inventory::devices_of: no rank " + std::to_string(rank) +
                                      " exists: the inventory has " + std::to_string(ranks_.size()) +
                                      " ranks, counted from 0");
  const auto begin = static_cast<std::size_t>(offsets_[static_cast<std::size_t>(rank)]);
  const auto end = static_cast<std::size_t>(offsets_[static_cast<std::size_t>(rank) + 1]);
  return std::span(devices_).subspan(begin, end - begin);
}

Plan Inventory::plan(std::int64_t units, const PlanOptions& options) const {
  if (devices_.empty()) return Plan::over_hosts(units, std::vector<int>(ranks_.size(), 1), options);
  const detail::RemainingDevices devices = detail::remaining_devices(*this);
  return Plan::over_devices(units, detail::remaining_scores(devices.scores, devices.excluded),
                            devices.rank_offsets, options);
}

detail::RemainingDevices detail::remaining_devices(const Inventory& inventory) {
  RemainingDevices remaining{.scores = {}, .rank_offsets = {0}, .excluded = {}};
  for (const InventoryDevice& device : inventory.devices()) {
    remaining.scores.push_back(device.score);
    remaining.excluded.push_back(device.excluded);
  }
  for (const InventoryRank& rank : inventory.ranks())
    remaining.rank_offsets.push_back(remaining.rank_offsets.back() +
                                     std::ssize(inventory.devices_of(rank.rank)));
  return remaining;
}

Inventory gather_inventory(const mpi::Communicator& comm, const Probe& probe, const Claim& claim,
                           std::span<const std::uint64_t> scores) {
  SentRank mine = sent_rank(comm.rank(), probe.host, claim);
  mine.scores_missing = scores.size() != claim.devices.size();
  for (std::size_t i = 0; i < claim.devices.size() && !mine.scores_missing; ++i)
    mine.devices.push_back(sent_device(comm.rank(), static_cast<int>(i), claim.devices[i], scores[i]));

  std::vector<InventoryRank> ranks;
  std::vector<detail::RankCores> cores;
  std::vector<InventoryDevice> devices;
  for (const SentRank& sent : base::allgather_values(comm, std::move(mine))) {
    if (sent.scores_missing)
      throw Error(ErrorCode::usage, "gather_inventory: rank " + std::to_string(sent.rank) +
                                        " must give exactly one score per claimed device");
    ranks.push_back(sent);
    cores.push_back({sent.node, sent.cpuset, sent.allowed_threads, {}});
    for (const SentQuota& quota : sent.quotas) cores.back().quotas.push_back({quota.cores, quota.group, {}});
    devices.insert(devices.end(), sent.devices.begin(), sent.devices.end());
  }
  share_out(ranks, cores);
  return {std::move(ranks), std::move(devices)};
}

}  // namespace TESSERA_NAMESPACE
