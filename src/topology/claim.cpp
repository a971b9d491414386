// SPDX-License-Identifier: Apache-2.0
#include <tessera/topology/claim.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>

#include "topology/host_identity.hpp"
#include "topology/nodes.hpp"

namespace tessera {
namespace {

/// A rank whose probe was ended early stands where it does all the same.
std::vector<int> nodes_of(const mpi::Communicator& comm, const HostInfo& host) {
  return detail::nodes_of_ranks(comm, host.boot_id.empty() ? detail::this_boot_id() : host.boot_id,
                                host.hostname.empty() ? detail::this_hostname() : host.hostname);
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
  const auto nodes = nodes_of(comm, probe.host);
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
