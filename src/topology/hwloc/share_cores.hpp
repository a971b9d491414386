// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/host_limits.hpp>

#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::detail {

/// The host resources of a rank, ignoring other ranks.
struct RankCores {
  int node = 0;
  std::string cpuset;
  int threads = 0;  ///< hardware threads of the cpuset
  std::vector<CpuQuota> quotas;
};

/// The threads of a rank, considering other ranks of the node.
struct CoreShare {
  int usable = 1;    ///< threads of the rank if it were alone on its node
  int fair = 1;      ///< the rank's share of its cpuset and cgroups
  std::string from;  ///< the limit that determines `fair`
};

/// Each rank's share of its cores and CPU quotas, in whole threads, at least 1; remainders go to the lowest
/// ranks. Cpusets that overlap without being equal are not divided. Pure function.
///
///     two ranks of one node with the cpuset "0-4"                    ->  3 and 2
///     the same, both below a cgroup with a quota of 2.5 cores        ->  1 and 1
[[nodiscard]] std::vector<CoreShare> share_cores(std::span<const RankCores> ranks);

}  // namespace TESSERA_NAMESPACE::detail
