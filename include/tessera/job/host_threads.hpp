// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/inventory.hpp>
#include <tessera/version.hpp>

#include <string>

namespace TESSERA_NAMESPACE {

/// The number of host threads of a rank, and the source of the number.
struct HostThreads {
  int count = 1;
  std::string from;     ///< "as requested", "OMP_NUM_THREADS", "its 8 hardware threads", …
  std::string ignored;  ///< a sentence about an environment variable with an invalid value; empty: none
};

/// Chooses the number of host threads from the first of these sources: `requested`, unless it is 0; the first
/// number in OMP_NUM_THREADS; SLURM_CPUS_PER_TASK; an equal share of the cores and CPU quotas that the ranks
/// of the node share. The values of the variables are limited to the threads that the rank's cores and
/// cgroups can run; `requested` is not limited. A variable with an invalid value is ignored. Not collective.
/// Thread-safe as long as no thread changes the environment.
[[nodiscard]] TESSERA_EXPORT HostThreads choose_threads(int requested, const InventoryRank& rank);

}  // namespace TESSERA_NAMESPACE
