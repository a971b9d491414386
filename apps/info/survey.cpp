// SPDX-License-Identifier: Apache-2.0
#include "survey.hpp"

#include <fmt/format.h>
#include <tessera/error.hpp>
#include <tessera/job/fault_points.hpp>

#include <algorithm>
#include <utility>

#include "common/text.hpp"

namespace tessera::info {
namespace {

/// *Collective.* Probes this rank. If a rank fails, all ranks throw the error of the lowest failed rank;
/// otherwise they would wait for the failed rank in `claim`.
Probe probe_together(const mpi::Communicator& comm, Policy policy) {
  Probe here;
  std::string problem;
  std::int32_t code = -1;
  try {
    if (policy == Policy::cpu) {
      here.host = probe_host();
      here.absence = {Absence::Reason::excluded, "the policy is cpu"};
    } else {
      here = probe(comm.rank());
    }
  } catch (const Error& error) {
    problem = error.what();
    code = static_cast<std::int32_t>(error.code());
  } catch (const std::exception& error) {
    problem = error.what();
    code = static_cast<std::int32_t>(ErrorCode::job_fault);
  }
  const auto codes = comm.allgather(code);
  const auto problems = comm.allgather_text(problem);
  const auto failed = std::ranges::find_if(codes, [](std::int32_t c) { return c >= 0; });
  if (failed != codes.end()) {
    const auto rank = static_cast<std::size_t>(failed - codes.begin());
    throw Error(static_cast<ErrorCode>(*failed), fmt::format("rank {}: {}", rank, problems[rank]));
  }
  return here;
}

struct SentSurroundings : Surroundings {
  bool has_memory = false;
  MemoryLimit limit;

  void members(const auto& to) {
    to(numa_nodes, visible, threads.count, threads.from, threads.ignored, broken, unguarded, has_memory,
       limit.limit_bytes, limit.free_bytes, limit.source);
  }
};

std::vector<Surroundings> gather_surroundings(const mpi::Communicator& comm, const Probe& here,
                                              const InventoryRank& mine, const Claim& claimed) {
  SentSurroundings own;
  own.numa_nodes = here.host.numa_nodes;
  for (const auto& device : here.devices) own.visible.push_back(to_string(device.info.uuid));
  own.threads = choose_threads(0, mine);
  own.broken = here.broken;
  own.unguarded = claimed.unguarded;
  const HostLimits limits = host_limits();
  if (const MemoryLimit* const tightest = limits.tightest_memory()) {
    own.has_memory = true;
    own.limit = *tightest;
  }
  std::vector<Surroundings> around;
  for (SentSurroundings& sent : apps::allgather_values(comm, std::move(own))) {
    if (sent.has_memory) sent.memory = std::move(sent.limit);
    around.push_back(std::move(sent));
  }
  return around;
}

/// The state of this rank's GPU driver; empty under Policy::cpu or with simulated devices.
DriverState driver_of(const Claim& claimed, Policy policy) {
  std::vector<DeviceInfo> devices;
  for (const ClaimedDevice& device : claimed.devices) devices.push_back(device.info);
  if (policy != Policy::cpu && std::ranges::none_of(devices, &DeviceInfo::simulated))
    return driver_state(devices);
  DriverState none;
  none.devices.resize(devices.size());
  return none;
}

std::vector<DeviceDetails> gather_details(const mpi::Communicator& comm, const Claim& claimed,
                                          const DriverState& driver) {
  std::vector<DeviceDetails> mine;
  for (std::size_t i = 0; i < claimed.devices.size(); ++i) {
    const DeviceInfo& info = claimed.devices[i].info;
    mine.push_back({info.free_memory_bytes, info.mig(), info.ecc, driver.devices[i]});
  }
  return comm.allgatherv(std::span<const DeviceDetails>(mine));
}

Plan plan_of(const Survey& survey, std::int64_t units, std::int64_t block) {
  if (!survey.inventory.devices().empty()) return survey.inventory.plan(units, block);
  std::vector<int> threads;
  for (const Surroundings& rank : survey.around) threads.push_back(rank.threads.count);
  return Plan::over_hosts(units, threads, block);
}

}  // namespace

Survey survey(const mpi::Communicator& comm, const Question& question) {
  const Probe here = probe_together(comm, question.policy);
  const Claim mine = claim(comm, here, question.allow_sharing);
  std::vector<std::uint64_t> scores;
  for (const auto& device : mine.devices) scores.push_back(score(device.info, question.score_model));

  Survey found;
  found.question = question;
  found.inventory = gather_inventory(comm, here, mine, scores);
  found.around =
      gather_surroundings(comm, here, found.inventory.ranks()[static_cast<std::size_t>(comm.rank())], mine);
  const DriverState driver = driver_of(mine, question.policy);
  found.details = gather_details(comm, mine, driver);
  found.software = gather_software(comm, driver, !driver.version.empty() && !mine.devices.empty());
  found.fault_points = active_fault_points();
  if (question.policy == Policy::gpu && found.inventory.devices().empty())
    throw Error(ErrorCode::device_absent,
                "a GPU is required, but no GPU can be used: " + found.inventory.ranks().front().absence);
  if (question.units) found.plan = plan_of(found, *question.units, question.block);
  return found;
}

ExercisedJob exercise_devices(const mpi::Communicator& comm, const Question& question) {
  JobOptions options;
  options.policy = question.policy;
  options.on_device_failure = OnDeviceFailure::exclude;  // the exercise continues on the other devices
  options.score_model = question.score_model;
  options.allow_sharing = question.allow_sharing;
  options.collective_timeout = question.collective_timeout;
  Job job(comm, options);
  Exercise found = exercise(job);
  return {job.inventory(), std::move(found)};
}

bool lists_every_rank(const Survey& survey) {
  constexpr std::size_t most_ranks_in_full = 32;
  return survey.question.per_rank || survey.inventory.ranks().size() <= most_ranks_in_full;
}

}  // namespace tessera::info
