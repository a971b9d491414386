// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/inventory.hpp>
#include <tessera/version.hpp>

#include <string>

namespace TESSERA_NAMESPACE {

/// The number of host threads of a rank, chosen or requested, and where the number comes from.
struct HostThreads {
  int count = 1;
  std::string from;     ///< "as asked for", "OMP_NUM_THREADS", "its 8 hardware threads", …
  std::string ignored;  ///< a sentence about a variable whose value is not a number of threads; empty: none
};

/// The first of these that is set: `requested`, if it is not 0, without a limit; the first number in
/// OMP_NUM_THREADS; SLURM_CPUS_PER_TASK; an equal share of the cores and quotas that the ranks of the node
/// share. The variables are limited to the threads that the rank's cores and cgroups can run, and an invalid
/// value is ignored. Not collective. Thread-safe as long as no thread changes the environment.
[[nodiscard]] TESSERA_EXPORT HostThreads choose_threads(int requested, const InventoryRank& rank);

}  // namespace TESSERA_NAMESPACE
