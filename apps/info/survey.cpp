// SPDX-License-Identifier: Apache-2.0
#include "survey.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tessera/error.hpp>
#include <tessera/job/fault_points.hpp>

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>

namespace tessera::info {
namespace {

/// This rank's probe. A rank that cannot probe would leave the others waiting in the claim: all ranks
/// learn of it here, and all throw what the lowest one has to say.
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

std::vector<HostThreads> gather_threads(const mpi::Communicator& comm, const InventoryRank& mine) {
  const HostThreads own = choose_threads(0, mine);
  const auto counts = comm.allgather(own.count);
  const auto reasons = comm.allgather_text(own.from);
  const auto ignored = comm.allgather_text(own.ignored);
  std::vector<HostThreads> all;
  for (std::size_t r = 0; r < counts.size(); ++r) all.push_back({counts[r], reasons[r], ignored[r]});
  return all;
}

std::vector<std::optional<MemoryLimit>> gather_memory(const mpi::Communicator& comm) {
  const HostLimits limits = host_limits();
  const MemoryLimit* own = limits.tightest_memory();
  const auto most = comm.allgather(own == nullptr ? std::int64_t{-1} : own->limit_bytes);
  const auto left = comm.allgather(own == nullptr ? std::int64_t{0} : own->free_bytes);
  const auto sources = comm.allgather_text(own == nullptr ? std::string() : own->source);
  std::vector<std::optional<MemoryLimit>> all(most.size());
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (most[r] < 0) continue;
    all[r].emplace();
    all[r]->limit_bytes = most[r];
    all[r]->free_bytes = left[r];
    all[r]->source = sources[r];
  }
  return all;
}

std::vector<Surroundings> gather_surroundings(const mpi::Communicator& comm, const Probe& here,
                                              const InventoryRank& mine, const Claim& claimed) {
  std::vector<Uuid> uuids;
  for (const auto& device : here.devices) uuids.push_back(device.info.uuid);
  std::vector<std::size_t> node_offsets;
  std::vector<std::size_t> uuid_offsets;
  const auto all_nodes = comm.allgatherv(std::span<const int>(here.host.numa_nodes), &node_offsets);
  const auto all_uuids = comm.allgatherv(std::span<const Uuid>(uuids), &uuid_offsets);
  const auto threads = gather_threads(comm, mine);
  const auto memory = gather_memory(comm);
  const auto unguarded = comm.allgather_text(claimed.unguarded);
  const auto broken = comm.allgather_text(fmt::format("{}", fmt::join(here.broken, "\n")));
  std::vector<Surroundings> around(static_cast<std::size_t>(comm.size()));
  for (std::size_t r = 0; r < around.size(); ++r) {
    for (auto i = node_offsets[r]; i < node_offsets[r + 1]; ++i) around[r].numa_nodes.push_back(all_nodes[i]);
    for (auto i = uuid_offsets[r]; i < uuid_offsets[r + 1]; ++i)
      around[r].visible.push_back(to_string(all_uuids[i]));
    around[r].threads = threads[r];
    around[r].memory = memory[r];
    around[r].unguarded = unguarded[r];
    std::istringstream lines(broken[r]);
    for (std::string line; std::getline(lines, line);) around[r].broken.push_back(line);
  }
  return around;
}

/// The driver as this rank sees it, unless there is no question of one.
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

/// As a job would plan.
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
                "a GPU is required, but there is none: " + found.inventory.ranks().front().absence);
  if (question.units) found.plan = plan_of(found, *question.units, question.block);
  return found;
}

ExercisedJob exercise_devices(const mpi::Communicator& comm, const Question& question) {
  JobOptions options;
  options.policy = question.policy;
  options.on_device_failure = OnDeviceFailure::exclude;  // the others are exercised all the same
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
