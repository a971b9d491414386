// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>
#include <tessera/topology/claim.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "base/message.hpp"
#include "mpi/time_limit.hpp"
#include "topology/claim/assign.hpp"
#include "topology/claim/device_locks.hpp"
#include "topology/claim/nodes.hpp"
#include "topology/claim/process_claim.hpp"
#include "topology/linux/host_identity.hpp"

namespace TESSERA_NAMESPACE {
namespace {

/// The boot id of the probe; if the probe failed before reading it, reads it now.
std::string boot_id_of(const HostInfo& host) {
  return host.boot_id.empty() ? detail::this_boot_id() : host.boot_id;
}
std::string hostname_of(const HostInfo& host) {
  return host.hostname.empty() ? detail::this_hostname() : host.hostname;
}

/// A `Sighting` (a device that a rank sees) as sent to all ranks of the node.
struct SightingRecord {
  Uuid uuid;
  std::int32_t distance = 0;
  std::int32_t simulated = 0;
  std::int32_t process = 0;  ///< process of a device that is simulated for one rank, else 0
  std::int64_t total_memory_bytes = 0;
};

struct Grant {
  Uuid uuid;
  std::int32_t rank = 0;
  std::int32_t slot = -1;  ///< slot in the device's lock file; -1: none
  std::int32_t sharers = 0;
  std::int32_t sharers_elsewhere = 0;
  std::int64_t reserved_elsewhere_bytes = 0;
};

struct NodeView {
  std::vector<detail::Sighting> sightings;
  std::map<Uuid, DeviceInfo> devices;  ///< for the names of lock files
  std::map<Uuid, int> processes;       ///< see `SightingRecord::process`
  std::string launch;                  ///< `this_launch` of the leader
  std::string node;

  [[nodiscard]] std::string lock_name(const Uuid& uuid) const {
    // Simulated devices of different jobs may have equal UUIDs but have different launches.
    return detail::lock_name(devices.at(uuid), std::to_string(processes.at(uuid)) + '.' + launch, node);
  }
};

struct Decision {
  std::vector<Grant> grants;
  std::map<Uuid, std::string> taken;  ///< devices that other jobs use, with their processes
  std::string unguarded;
};

NodeView gather_view(const mpi::Communicator& node, const Probe& probe) {
  std::vector<SightingRecord> mine;
  for (const auto& device : probe.devices)
    mine.push_back({device.info.uuid, device.distance, device.info.simulated ? 1 : 0,
                    device.info.simulated_for_rank ? static_cast<std::int32_t>(getpid()) : 0,
                    device.info.total_memory_bytes});
  const auto of_ranks = base::allgather_values(node, std::move(mine));
  NodeView view;
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    for (const SightingRecord& record : of_ranks[rank]) {
      view.sightings.push_back({static_cast<int>(rank), record.uuid, record.distance});
      DeviceInfo& known = view.devices[record.uuid];
      known.uuid = record.uuid;
      known.simulated = record.simulated != 0;
      view.processes[record.uuid] = record.process;
      known.total_memory_bytes = record.total_memory_bytes;
    }
  }
  view.launch = node.broadcast_text(detail::this_launch(), 0);
  view.node = boot_id_of(probe.host) + '-' + hostname_of(probe.host);
  return view;
}

std::string joined(const std::vector<detail::DeviceUser>& users) {
  std::vector<std::string> names;
  for (const auto& user : users) {
    const std::string name = to_string(user);
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// Assigns devices that other jobs do not use to the ranks of a node, and reserves slots in their lock files.
class Leader {
 public:
  /// `process`: for a serial job, which may also claim devices of other serial jobs of its process; else
  /// null.
  explicit Leader(const detail::ProcessClaiming* process) : process_(process) {}

  /// Runs `progress` repeatedly while another job's claim is in progress.
  Decision decide(NodeView view, bool allow_sharing, const std::function<void()>& progress) {
    Decision decision;
    if (view.devices.empty()) return decision;
    try {
      const detail::ClaimLock lock(detail::lock_folder(), progress);
      leave_out_taken(view, lock, allow_sharing, decision);
      grant(view, allow_sharing, decision);
      for (Grant& granted : decision.grants) {
        if (const detail::ProcessDevice* shared = of_process(view.lock_name(granted.uuid))) {
          granted.slot = shared->slot;
          continue;
        }
        reserved_.push_back(
            lock.reserve(view.lock_name(granted.uuid), as_user(granted, view, allow_sharing)));
        granted.slot = reserved_.back().slot;
      }
    } catch (const detail::ClaimInProgress& other) {
      // The other job may take any of the devices, so none is granted.
      decision = {};
      for (const auto& [uuid, device] : view.devices) decision.taken[uuid] = other.what();
    } catch (const std::exception& problem) {
      decision.unguarded = problem.what();
      if (decision.grants.empty()) grant(view, allow_sharing, decision);
    }
    return decision;
  }

  /// Call after the ranks have locked their slots.
  void release_slots() { reserved_.clear(); }

 private:
  [[nodiscard]] const detail::ProcessDevice* of_process(const std::string& lock_name) const {
    return process_ != nullptr ? process_->find(lock_name) : nullptr;
  }

  /// Removes the devices that other jobs use and do not share. For shared devices, counts the users and their
  /// memory.
  void leave_out_taken(NodeView& view, const detail::ClaimLock& lock, bool allow_sharing,
                       Decision& decision) {
    for (const auto& [uuid, device] : view.devices) {
      const std::string name = view.lock_name(uuid);
      const detail::ProcessDevice* shared = of_process(name);
      const auto users = lock.users_of(name, shared != nullptr ? shared->slot : -1);
      if (users.empty()) continue;
      const bool may_join = allow_sharing && std::ranges::all_of(users, &detail::DeviceUser::shared);
      if (!may_join) {
        decision.taken[uuid] = joined(users);
        std::erase_if(view.sightings,
                      [&taken = uuid](const detail::Sighting& sighting) { return sighting.uuid == taken; });
        continue;
      }
      for (detail::Sighting& sighting : view.sightings)
        if (sighting.uuid == uuid) sighting.users_elsewhere = static_cast<int>(users.size());
      std::int64_t& reserved = reserved_bytes_[uuid];
      for (const auto& user : users) reserved += user.budget_bytes;
    }
  }

  void grant(const NodeView& view, bool allow_sharing, Decision& decision) {
    for (const detail::Assignment& assigned : detail::assign_devices(view.sightings, allow_sharing)) {
      const auto sighting = std::ranges::find(view.sightings, assigned.uuid, &detail::Sighting::uuid);
      decision.grants.push_back({assigned.uuid, assigned.rank, -1, assigned.sharers,
                                 sighting->users_elsewhere, reserved_bytes_[assigned.uuid]});
    }
  }

  /// The record of a reserved slot until the rank writes its own.
  static detail::DeviceUser as_user(const Grant& granted, const NodeView& view, bool allow_sharing) {
    ClaimedDevice device{view.devices.at(granted.uuid), granted.sharers, granted.sharers_elsewhere,
                         granted.reserved_elsewhere_bytes};
    device.info.free_memory_bytes = device.info.total_memory_bytes;
    return detail::this_user(allow_sharing, device.memory_budget_bytes());
  }

  const detail::ProcessClaiming* process_;
  std::map<Uuid, std::int64_t> reserved_bytes_;
  std::vector<detail::ReservedSlot> reserved_;
};

/// *Collective* on `node`. Rank 0 is the leader.
Decision broadcast(const mpi::Communicator& node, Decision decision) {
  std::ranges::replace(decision.unguarded, '\n', ' ');
  std::vector<std::pair<Uuid, std::string>> taken(decision.taken.begin(), decision.taken.end());
  base::broadcast_values(node, 0, decision.grants, decision.unguarded, taken);
  decision.taken = {taken.begin(), taken.end()};
  return decision;
}

/// The record of a device that two serial jobs of this process use.
detail::DeviceUser combined(const detail::DeviceUser& one, detail::DeviceUser other) {
  other.shared = other.shared && one.shared;
  other.budget_bytes = std::max(other.budget_bytes, one.budget_bytes);
  return other;
}

/// Locks the devices of this rank, and drops a device whose slot another process has locked. `process`: as in
/// `Leader`.
void take_granted(const NodeView& view, bool allow_sharing, const detail::ProcessClaiming* process,
                  Decision& decision, int rank, const Probe& probe, Claim& claim) {
  auto held = std::make_shared<std::vector<std::shared_ptr<const void>>>();
  std::vector<detail::ProcessClaim::Part> parts;
  for (const Grant& granted : decision.grants) {
    if (granted.rank != rank) continue;
    const auto seen = std::ranges::find(probe.devices, granted.uuid,
                                        [](const ProbedDevice& device) { return device.info.uuid; });
    ClaimedDevice device{seen->info, granted.sharers, granted.sharers_elsewhere,
                         granted.reserved_elsewhere_bytes};
    const std::string name = view.lock_name(granted.uuid);
    detail::ProcessDevice* shared = process != nullptr ? process->find(name) : nullptr;
    // The free memory before other jobs of this process used the device.
    if (shared != nullptr) device.info.free_memory_bytes = shared->free_bytes;
    detail::DeviceUser user = detail::this_user(allow_sharing, device.memory_budget_bytes());
    if (shared != nullptr) user = combined(shared->user, std::move(user));
    std::shared_ptr<const void> slot;
    try {
      if (granted.slot >= 0 && shared != nullptr) {
        detail::describe_slot(detail::lock_folder(), name, granted.slot, user);
      } else if (granted.slot >= 0) {
        slot = detail::take_slot(detail::lock_folder(), name, granted.slot, user);
        if (slot == nullptr) {
          decision.taken[granted.uuid] = "an unknown process that holds the lock";
          continue;
        }
      }
    } catch (const std::exception& problem) {
      claim.unguarded = problem.what();
    }
    if (process != nullptr) {
      const int number = slot != nullptr ? granted.slot : -1;
      if (shared == nullptr)
        shared = process->add(name, {granted.uuid, number, user, device.info.free_memory_bytes, slot});
      shared->user = user;
      parts.push_back({shared, device.memory_budget_bytes()});
    } else if (slot != nullptr) {
      held->push_back(std::move(slot));
    }
    claim.devices.push_back(device);
  }
  if (!parts.empty()) claim.locks = claim.turns = process->join(std::move(parts));
  if (!held->empty()) claim.locks = std::move(held);
}

Absence nothing_left(const Probe& probe, int ranks_of_node, const std::map<Uuid, std::string>& taken) {
  if (probe.absence) return *probe.absence;
  if (probe.devices.empty()) return {Absence::Reason::no_device, "this rank sees no GPU"};
  std::vector<std::string> others;
  std::size_t taken_here = 0;
  for (const ProbedDevice& device : probe.devices) {
    const auto by = taken.find(device.info.uuid);
    if (by == taken.end()) continue;
    ++taken_here;
    if (std::ranges::find(others, by->second) == others.end()) others.push_back(by->second);
  }
  std::string who;
  for (const auto& other : others) who += (who.empty() ? "" : ", ") + other;

  const auto seen = probe.devices.size();
  const std::string what = (seen == 1 ? "the one GPU" : "all " + std::to_string(seen) + " GPUs") +
                           std::string(" that this rank sees");
  if (taken_here == seen)
    return {Absence::Reason::driven, "other jobs on " + probe.host.hostname + " drive " + what + " (" + who +
                                         "): wait until these jobs end, or allow sharing in all jobs"};
  return {Absence::Reason::none_left,
          "the other ranks of " + probe.host.hostname + " (" + std::to_string(ranks_of_node) + " in all)" +
              (who.empty() ? "" : " and other jobs (" + who + ")") + " drive " + what +
              (probe.broken.empty() ? ": start fewer ranks or allow sharing"
                                    : ", and the driver cannot read " + probe.broken.front() +
                                          ": repair this GPU, or use another node")};
}

}  // namespace

std::int64_t ClaimedDevice::memory_budget_bytes() const noexcept {
  const auto left = std::max<std::int64_t>(info.total_memory_bytes - reserved_elsewhere_bytes, 0);
  const auto part = static_cast<std::int64_t>(info.memory_fraction * static_cast<double>(left));
  return std::min(info.free_memory_bytes, part) / std::max(sharers - sharers_elsewhere, 1);
}

Claim claim(const mpi::Communicator& comm, const Probe& probe, bool allow_sharing) {
  const auto nodes = detail::nodes_of_ranks(comm, boot_id_of(probe.host), hostname_of(probe.host));
  Claim claim;
  claim.node = nodes[static_cast<std::size_t>(comm.rank())];
  claim.nodes = 1 + *std::max_element(nodes.begin(), nodes.end());

  const auto node = comm.split(claim.node);
  std::optional<detail::ProcessClaiming> process;
  if (comm.is_serial()) process.emplace();
  const detail::ProcessClaiming* const claiming = process ? &*process : nullptr;
  const NodeView view = gather_view(node, probe);
  // The leader does not wait for ranks while it holds the claim lock. While it waits for the lock, it replies
  // to watchdogs.
  Leader leader(claiming);
  Decision decision;
  if (node.rank() == 0) {
    mpi::detail::TimeLimit limit(comm, "the claim of GPUs by lock files");
    decision = leader.decide(view, allow_sharing, [&] {
      comm.alive();
      limit.restart();
    });
  }
  decision = broadcast(node, std::move(decision));
  claim.unguarded = decision.unguarded;
  {
    const mpi::detail::TimeLimit limit(comm, "the claim of GPUs by lock files");
    take_granted(view, allow_sharing, claiming, decision, node.rank(), probe, claim);
  }
  node.barrier();
  leader.release_slots();
  if (claim.devices.empty()) claim.absence = nothing_left(probe, node.size(), decision.taken);
  return claim;
}

}  // namespace TESSERA_NAMESPACE
