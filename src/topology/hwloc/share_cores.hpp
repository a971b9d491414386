// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/host_limits.hpp>

#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::detail {

/// The host resources that one rank may use if the other ranks are ignored.
struct RankCores {
  int node = 0;
  std::string cpuset;
  int threads = 0;  ///< hardware threads of the cpuset
  std::vector<CpuQuota> quotas;
};

/// The threads of a rank if the other ranks of its node are considered.
struct CoreShare {
  int usable = 1;    ///< threads that the rank could keep busy if it were alone on its node
  int fair = 1;      ///< the rank's share of threads, if ranks of its node share a cpuset or cgroup
  std::string from;  ///< the limit that determines `fair`
};

/// Each rank's share of its cores and of every CPU quota that applies to it, in whole threads, at least 1;
/// the remainder goes to the lowest ranks. Cpusets that overlap without being equal are not divided. Pure.
///
///     two ranks of one node with the cpuset "0-4"                    ->  3 and 2
///     the same, both below a cgroup with a quota of 2.5 cores        ->  1 and 1
[[nodiscard]] std::vector<CoreShare> share_cores(std::span<const RankCores> ranks);

}  // namespace TESSERA_NAMESPACE::detail
