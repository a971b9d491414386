// SPDX-License-Identifier: Apache-2.0
#include <tessera/error.hpp>
#include <tessera/topology/inventory.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "topology/hwloc/share_cores.hpp"
#include "topology/remaining_devices.hpp"

namespace TESSERA_NAMESPACE {
namespace {

/// A text of a record: truncated if necessary, always zero-terminated.
template <std::size_t Size>
using Text = std::array<char, Size>;

template <std::size_t Size>
void set(Text<Size>& text, std::string_view value) {
  const std::size_t length = std::min(value.size(), Size - 1);
  std::copy_n(value.begin(), length, text.begin());
}

struct RankRecord {
  std::int32_t node;
  std::int32_t allowed_cores;
  std::int32_t allowed_threads;
  std::int32_t quotas;          ///< number of their records, which follow
  std::int32_t scores_missing;  ///< an error of this rank's caller, reported on all ranks
  Text<72> hostname;
  Text<256> cpuset;
  Text<256> absence;
};

struct QuotaRecord {
  double cores = 0;
  CgroupId group;
};

struct DeviceRecord {
  std::array<std::uint8_t, 16> uuid{};
  std::uint8_t mig = 0;
  std::uint8_t simulated = 0;
  std::uint8_t host = 0;
  std::int32_t sharers = 0;
  PciId pci;
  std::int32_t capability_major = 0;
  std::int32_t capability_minor = 0;
  std::int32_t multiprocessors = 0;
  std::int32_t numa_node = 0;
  std::int64_t total_memory_bytes = 0;
  std::int64_t memory_budget_bytes = 0;
  std::uint64_t score = 0;
  Text<72> name{};
};

static_assert(std::is_trivially_copyable_v<RankRecord> && std::is_trivially_copyable_v<QuotaRecord> &&
              std::is_trivially_copyable_v<DeviceRecord>);

template <class Record>
void append(std::vector<std::byte>& bytes, const Record& record) {
  const auto* begin = reinterpret_cast<const std::byte*>(&record);
  bytes.insert(bytes.end(), begin, begin + sizeof record);
}

template <class Record>
Record take(std::span<const std::byte>& bytes) {
  Record record{};
  std::memcpy(&record, bytes.data(), sizeof record);
  bytes = bytes.subspan(sizeof record);
  return record;
}

RankRecord rank_record(const HostInfo& host, const Claim& claim, bool scores_missing) {
  RankRecord record{};
  record.node = claim.node;
  record.allowed_cores = host.allowed_cores;
  record.allowed_threads = host.allowed_threads;
  record.quotas = static_cast<std::int32_t>(host.cpu_quotas.size());
  record.scores_missing = scores_missing ? 1 : 0;
  set(record.hostname, host.hostname);
  set(record.cpuset, host.allowed_cpuset);
  if (claim.absence) set(record.absence, claim.absence->message);
  return record;
}

DeviceRecord device_record(const ClaimedDevice& device, std::uint64_t score) {
  const DeviceInfo& info = device.info;
  DeviceRecord record{};
  record.uuid = info.uuid.bytes;
  record.mig = info.uuid.mig ? 1 : 0;
  record.simulated = info.simulated ? 1 : 0;
  record.host = info.host ? 1 : 0;
  record.sharers = std::max(device.sharers, 1);
  record.pci = info.pci;
  record.capability_major = info.capability.major;
  record.capability_minor = info.capability.minor;
  record.multiprocessors = info.multiprocessors;
  record.numa_node = info.numa_node;
  const auto sharers = static_cast<std::uint64_t>(record.sharers);
  record.total_memory_bytes = info.total_memory_bytes;
  record.memory_budget_bytes = device.memory_budget_bytes();
  // Rounding must not give a device that can compute a share of zero.
  record.score = score == 0 ? 0 : std::max<std::uint64_t>(score / sharers, 1);
  set(record.name, info.name);
  return record;
}

InventoryRank to_rank(int rank, const RankRecord& record) {
  InventoryRank out;
  out.rank = rank;
  out.node = record.node;
  out.hostname = record.hostname.data();
  out.cpuset = record.cpuset.data();
  out.allowed_cores = record.allowed_cores;
  out.allowed_threads = record.allowed_threads;
  out.absence = record.absence.data();
  return out;
}

detail::RankCores cores_of(const InventoryRank& rank) {
  return {rank.node, rank.cpuset, rank.allowed_threads, {}};
}

/// What each of `ranks` may use, given what they share.
void share_out(std::vector<InventoryRank>& ranks, std::span<const detail::RankCores> cores) {
  const auto shares = detail::share_cores(cores);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    ranks[r].usable_threads = shares[r].usable;
    ranks[r].fair_threads = shares[r].fair;
    ranks[r].fair_threads_from = shares[r].from;
  }
}

InventoryDevice to_device(int rank, int index, const DeviceRecord& record) {
  InventoryDevice device;
  device.rank = rank;
  device.index = index;
  device.uuid = {record.uuid, record.mig != 0};
  device.pci = record.pci;
  device.name = record.name.data();
  device.capability = {record.capability_major, record.capability_minor};
  device.multiprocessors = record.multiprocessors;
  device.total_memory_bytes = record.total_memory_bytes;
  device.memory_budget_bytes = record.memory_budget_bytes;
  device.numa_node = record.numa_node;
  device.sharers = record.sharers;
  device.simulated = record.simulated != 0;
  device.host = record.host != 0;
  device.score = record.score;
  return device;
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
      throw Error(ErrorCode::usage, "Inventory: device " + to_string(device.uuid) +
                                        " is said to be of rank " + std::to_string(device.rank) +
                                        ", and there are " + std::to_string(ranks_.size()) + " ranks");
    ++offsets_[static_cast<std::size_t>(device.rank) + 1];
  }
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) offsets_[rank + 1] += offsets_[rank];
  std::vector<std::pair<Uuid, bool>> gpus;  // the excluded shares of each at its end
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
    throw Error(ErrorCode::usage, "Inventory::devices_of: no rank " + std::to_string(rank) + " among " +
                                      std::to_string(ranks_.size()));
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
  // One message a rank: its record, and behind it those of its quotas and devices.
  const bool scores_missing = scores.size() != claim.devices.size();
  std::vector<std::byte> mine;
  append(mine, rank_record(probe.host, claim, scores_missing));
  for (const CpuQuota& quota : probe.host.cpu_quotas) append(mine, QuotaRecord{quota.cores, quota.group});
  for (std::size_t i = 0; i < claim.devices.size() && !scores_missing; ++i)
    append(mine, device_record(claim.devices[i], scores[i]));
  std::vector<std::size_t> offsets;
  const auto gathered = comm.allgatherv(std::span<const std::byte>(mine), &offsets);

  std::vector<InventoryRank> ranks;
  std::vector<detail::RankCores> cores;
  std::vector<InventoryDevice> devices;
  for (int rank = 0; rank < comm.size(); ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    auto bytes = std::span(gathered).subspan(offsets[r], offsets[r + 1] - offsets[r]);
    const auto record = take<RankRecord>(bytes);
    if (record.scores_missing != 0)
      throw Error(ErrorCode::usage, "gather_inventory: rank " + std::to_string(rank) +
                                        " does not give one score for each claimed device");
    ranks.push_back(to_rank(rank, record));
    cores.push_back(cores_of(ranks.back()));
    for (int i = 0; i < record.quotas; ++i) {
      const auto quota = take<QuotaRecord>(bytes);
      cores.back().quotas.push_back({quota.cores, quota.group, {}});
    }
    for (int index = 0; !bytes.empty(); ++index)
      devices.push_back(to_device(rank, index, take<DeviceRecord>(bytes)));
  }
  share_out(ranks, cores);
  return {std::move(ranks), std::move(devices)};
}

}  // namespace TESSERA_NAMESPACE
