// SPDX-License-Identifier: Apache-2.0
#include "partition_suite.hpp"

#include <fmt/core.h>

#include <tessera/error.hpp>
#include <tessera/partition/plan.hpp>

namespace tessera::bench {
namespace {

constexpr std::int64_t devices = 1'000'000;
constexpr std::int64_t units = std::int64_t{1} << 62;

/// A plan of all devices, so many on each rank, with scores that differ.
Measurement time_plan(const mpi::Communicator& comm, std::int64_t devices_per_rank, int repeats) {
  std::vector<std::uint64_t> scores;
  for (std::int64_t i = 0; i < devices; ++i) scores.push_back(50 + static_cast<std::uint64_t>(i * 7 % 101));
  std::vector<std::int64_t> offsets;
  for (std::int64_t i = 0; i <= devices; i += devices_per_rank) offsets.push_back(i);
  const std::string name = fmt::format("{} devices, {}", devices, counted(offsets.size() - 1, "rank"));
  return {"partition", name, "plan", "s", seconds_of(comm, repeats, 1, [&] {
            const Plan plan = Plan::over_devices(units, scores, offsets);
            if (plan.tiles().empty()) throw Error(ErrorCode::job_fault, "the plan has no tile");
          })};
}

}  // namespace

Suite partition_suite() {
  Suite suite;
  suite.name = "partition";
  suite.description = "The plan of a million devices, on every rank: over many ranks, and all in one";
  suite.run = [](const mpi::Communicator& comm, const SuiteOptions& options) {
    std::vector<Measurement> all;
    for (const std::int64_t devices_per_rank : {std::int64_t{1}, std::int64_t{8}, devices})
      all.push_back(time_plan(comm, devices_per_rank, options.repeats.value_or(10)));
    return all;
  };
  return suite;
}

}  // namespace tessera::bench
