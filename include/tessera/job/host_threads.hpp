// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/inventory.hpp>
#include <tessera/version.hpp>

#include <string>

namespace tessera::inline TESSERA_ABI {

/// How many host threads a rank works with, and why.
struct HostThreads {
  int count = 1;
  std::string from;     ///< "as asked for", "OMP_NUM_THREADS", "its 8 hardware threads", …
  std::string ignored;  ///< a variable that is set to no number of threads, as a sentence; empty: none
};

/// The first of these that is there: `asked`, where it is not 0, whatever the machine has; the first number
/// in OMP_NUM_THREADS; SLURM_CPUS_PER_TASK; an equal share of the cores and quotas that ranks of the node
/// have in common. Variables are kept to what the rank's cores and the cgroups over it can keep busy, and
/// what is no number of threads in one is passed over. Not collective. Thread-safe as long as no thread
/// changes the environment.
[[nodiscard]] TESSERA_EXPORT HostThreads choose_threads(int asked, const InventoryRank& rank);

}  // namespace tessera::inline TESSERA_ABI
