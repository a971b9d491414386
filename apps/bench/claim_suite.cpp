// SPDX-License-Identifier: Apache-2.0
#include "claim_suite.hpp"

#include <fmt/core.h>

#include <tessera/job/together.hpp>
#include <tessera/topology/inventory.hpp>
#include <tessera/topology/simulate.hpp>

namespace tessera::bench {
namespace {

/// What this rank sees, or eight simulated devices that all ranks of the node see if that is nothing.
Probe look(const mpi::Communicator& comm, Policy policy) {
  Probe here;
  together(comm, [&] { here = probe(comm.rank()); });
  const bool any = comm.allreduce(here.devices.empty() ? 0 : 1, mpi::Reduction::max) != 0;
  if (any && policy != Policy::cpu) return here;
  here.devices.clear();
  here.absence.reset();
  for (DeviceInfo& device : simulated_devices("*:8xH200@node", comm.rank()))
    here.devices.push_back({std::move(device), 0});
  return here;
}

std::vector<Measurement> run_claim_suite(const mpi::Communicator& comm, const SuiteOptions& options) {
  const Probe here = look(comm, options.policy);
  const int repeats = options.repeats.value_or(20);
  constexpr int calls = 20;
  const Claim mine = claim(comm, here, false);
  const std::vector<std::uint64_t> scores(mine.devices.size(), 1);
  const Inventory inventory = gather_inventory(comm, here, mine, scores);
  const bool simulated = !inventory.devices().empty() && inventory.devices()[0].simulated;
  const std::string name =
      fmt::format("{}, {}", counted(comm.size(), "rank"),
                  counted(inventory.devices().size(), simulated ? "simulated device" : "device"));
  return {
      in_microseconds({"claim", name, "claim", "s",
                       seconds_of(comm, repeats, calls, [&] { (void)claim(comm, here, false); })}),
      in_microseconds(
          {"claim", name, "inventory", "s",
           seconds_of(comm, repeats, calls, [&] { (void)gather_inventory(comm, here, mine, scores); })}),
  };
}

}  // namespace

Suite claim_suite() {
  return {"claim", "The ranks' agreement on who drives which device, and the inventory", run_claim_suite, {}};
}

}  // namespace tessera::bench
