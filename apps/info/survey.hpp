// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/job.hpp>
#include <tessera/topology/host_limits.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::info {

/// What to find out, and under which rules.
struct Question {
  Policy policy = Policy::automatic;
  ScoreModel score_model = ScoreModel::throughput;
  bool allow_sharing = false;
  std::optional<std::int64_t> units;  ///< plan these too
  std::int64_t block = 1;
};

/// What a rank sees around it and the inventory does not tell.
struct Surroundings {
  std::vector<int> numa_nodes;        ///< hwloc OS indexes of the rank's cores
  std::vector<std::string> visible;   ///< UUIDs of the GPUs that the rank could drive
  HostThreads threads;                ///< that a job would give the rank, if it is not told
  std::string unguarded;              ///< why other jobs may not know what this rank drives; empty: they do
  std::optional<MemoryLimit> memory;  ///< the limit of which least is left; none: not known
};

/// The hardware of the whole job, the same on every rank.
struct Survey {
  Question question;
  Inventory inventory;
  std::vector<Surroundings> around;  ///< by rank
  std::optional<Plan> plan;
};

/// Probe, claim, inventory and plan, without a job and without one CUDA call. *Collective.* Throws the
/// same `Error` on every rank: `usage` for an unreadable environment, `device_absent` if the policy is
/// `gpu` and there is none.
[[nodiscard]] Survey survey(const mpi::Communicator& comm, const Question& question);

}  // namespace tessera::info
