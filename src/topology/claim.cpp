// SPDX-License-Identifier: Apache-2.0
#include <tessera/topology/claim.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <type_traits>

#include "topology/host_identity.hpp"

namespace tessera {
namespace {

/// The node of every rank, numbered from 0 by the lowest rank on it.
///
/// MPI_Comm_split_type(MPI_COMM_TYPE_SHARED) is not asked: it says which ranks can share memory, and where
/// each rank runs in a container of its own it splits a node into singletons that would all take the same
/// GPU. Boot id and host name are the machine's own. The boot id alone would not do, since copies of one
/// suspended virtual machine carry the same; nor would the name, which may be "localhost" everywhere.
std::vector<int> nodes_of_ranks(const mpi::Communicator& comm, const HostInfo& host) {
  // A rank whose probe was ended early stands where it does all the same.
  const auto boot_id = host.boot_id.empty() ? detail::this_boot_id() : host.boot_id;
  const auto hostname = host.hostname.empty() ? detail::this_hostname() : host.hostname;
  const auto identities = comm.allgather_text(boot_id + '\n' + hostname);
  std::map<std::string, int> numbers;
  std::vector<int> nodes;
  nodes.reserve(identities.size());
  for (const auto& identity : identities)
    nodes.push_back(numbers.try_emplace(identity, static_cast<int>(numbers.size())).first->second);
  return nodes;
}

/// A sighting on its way between ranks; whose it is follows from where it stands.
struct SightingRecord {
  Uuid uuid;
  std::int32_t distance;
};
static_assert(std::is_trivially_copyable_v<SightingRecord>);

std::vector<Sighting> gather_sightings(const mpi::Communicator& node, const Probe& probe) {
  std::vector<SightingRecord> mine;
  for (const auto& device : probe.devices) mine.push_back({device.info.uuid, device.distance});
  std::vector<std::size_t> offsets;
  const auto records = node.allgatherv(std::span<const SightingRecord>(mine), &offsets);
  std::vector<Sighting> sightings;
  for (std::size_t rank = 0; rank + 1 < offsets.size(); ++rank)
    for (std::size_t i = offsets[rank]; i < offsets[rank + 1]; ++i)
      sightings.push_back({static_cast<int>(rank), records[i].uuid, records[i].distance});
  return sightings;
}

Absence nothing_left(const Probe& probe, int ranks_of_node) {
  if (probe.absence) return *probe.absence;
  if (probe.devices.empty()) return {Absence::Reason::no_device, "this rank sees no GPU"};
  const auto seen = probe.devices.size();
  return {Absence::Reason::none_left,
          "the other ranks of " + probe.host.hostname + " (" + std::to_string(ranks_of_node) +
              " in all) drive " + (seen == 1 ? "the one GPU" : "all " + std::to_string(seen) + " GPUs") +
              " that this rank sees: start fewer ranks or allow sharing"};
}

}  // namespace

Claim claim(const mpi::Communicator& comm, const Probe& probe, bool allow_sharing) {
  const auto nodes = nodes_of_ranks(comm, probe.host);
  Claim claim;
  claim.node = nodes[static_cast<std::size_t>(comm.rank())];
  claim.nodes = 1 + *std::max_element(nodes.begin(), nodes.end());

  const auto node = comm.split(claim.node);
  // Every rank of the node computes the whole agreement, and all find the same.
  for (const auto& assignment : assign_devices(gather_sightings(node, probe), allow_sharing)) {
    if (assignment.rank != node.rank()) continue;
    const auto device = std::find_if(probe.devices.begin(), probe.devices.end(),
                                     [&](const ProbedDevice& d) { return d.info.uuid == assignment.uuid; });
    claim.devices.push_back({device->info, assignment.sharers});
  }
  if (claim.devices.empty()) claim.absence = nothing_left(probe, node.size());
  return claim;
}

}  // namespace tessera
