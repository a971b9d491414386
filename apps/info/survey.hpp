// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/job.hpp>
#include <tessera/topology/driver_state.hpp>
#include <tessera/topology/host_limits.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exercise_report.hpp"
#include "software.hpp"

namespace tessera::info {

struct Question {
  Policy policy = Policy::automatic;
  ScoreModel score_model = ScoreModel::throughput;
  bool allow_sharing = false;
  bool per_rank = false;  ///< list every rank, whatever their number
  std::chrono::milliseconds collective_timeout{};
  std::optional<std::int64_t> units;  ///< also make a plan for this many units
  std::int64_t block = 1;
};

/// Properties of a rank's host and process that are not in the inventory.
struct Surroundings {
  std::vector<int> numa_nodes;        ///< OS indexes of the NUMA nodes of the rank's cores
  std::vector<std::string> visible;   ///< UUIDs of the GPUs that the rank sees
  HostThreads threads;                ///< the default number of host threads of a job
  std::vector<std::string> broken;    ///< from `Probe::broken`
  std::string unguarded;              ///< why other jobs cannot see this rank's claim; empty: they can
  std::optional<MemoryLimit> memory;  ///< the tightest memory limit; none: not known
};

/// Properties of a device that are not in the inventory.
struct DeviceDetails {
  std::int64_t free_memory_bytes = 0;
  bool mig = false;
  bool ecc = false;
  DeviceCondition condition;

  /// Whether the device needs a reset or a repair.
  [[nodiscard]] bool needs_attention() const {
    return condition.uncorrected_errors.value_or(0) > 0 || condition.remapping_needs_reset.value_or(false);
  }
};

/// The hardware of the whole job, the same on every rank.
struct Survey {
  Question question;
  Inventory inventory;
  std::vector<Surroundings> around;    ///< one for each rank
  std::vector<DeviceDetails> details;  ///< one for each device of the inventory
  std::vector<Software> software;
  std::string fault_points;  ///< active fault injection; only in test builds
  std::optional<Plan> plan;
  std::optional<ExercisedJob> exercise;
};

/// *Collective.* Probe, claim, inventory and plan, without a job and without CUDA calls. Throws the same
/// `Error` on every rank: `usage` or `job_fault` if a rank's probe fails, `device_absent` if the policy is
/// `gpu` and there is no GPU.
[[nodiscard]] Survey survey(const mpi::Communicator& comm, const Question& question);

/// *Collective.* Exercises a job with the devices of a survey. Throws like `Job` and `exercise`.
[[nodiscard]] ExercisedJob exercise_devices(const mpi::Communicator& comm, const Question& question);

[[nodiscard]] bool lists_every_rank(const Survey& survey);

}  // namespace tessera::info
