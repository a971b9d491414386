// SPDX-License-Identifier: Apache-2.0
#include "survey.hpp"

#include <fmt/core.h>
#include <tessera/error.hpp>

#include <algorithm>
#include <string>

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

std::vector<Surroundings> gather_surroundings(const mpi::Communicator& comm, const Probe& here) {
  std::vector<Uuid> uuids;
  for (const auto& device : here.devices) uuids.push_back(device.info.uuid);
  std::vector<std::size_t> node_offsets;
  std::vector<std::size_t> uuid_offsets;
  const auto all_nodes = comm.allgatherv(std::span<const int>(here.host.numa_nodes), &node_offsets);
  const auto all_uuids = comm.allgatherv(std::span<const Uuid>(uuids), &uuid_offsets);
  std::vector<Surroundings> around(static_cast<std::size_t>(comm.size()));
  for (std::size_t r = 0; r < around.size(); ++r) {
    for (auto i = node_offsets[r]; i < node_offsets[r + 1]; ++i) around[r].numa_nodes.push_back(all_nodes[i]);
    for (auto i = uuid_offsets[r]; i < uuid_offsets[r + 1]; ++i)
      around[r].visible.push_back(to_string(all_uuids[i]));
  }
  return around;
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
  found.around = gather_surroundings(comm, here);
  if (question.policy == Policy::gpu && found.inventory.devices().empty())
    throw Error(ErrorCode::device_absent,
                "a GPU is required, but there is none: " + found.inventory.ranks().front().absence);
  if (question.units) found.plan = found.inventory.plan(*question.units, question.block);
  return found;
}

}  // namespace tessera::info
