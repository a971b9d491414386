// SPDX-License-Identifier: Apache-2.0
#include "suite.hpp"

#include <fmt/core.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tessera::bench {
namespace {

constexpr int calls = 1000;

/// A pass whose functions do nothing: without units it is little more than its vote.
void empty_pass(Job& job, const Plan& plan, std::span<char> units = {}) {
  job.scatter(
      plan, units, [](Tile&, std::span<char>) {}, [](const HostTile&, std::span<char>) {});
}

std::vector<Measurement> run_vote_suite(const mpi::Communicator& comm, const SuiteOptions& options) {
  JobOptions on_host = job_options(options);
  on_host.policy = Policy::cpu;
  Job job(comm, on_host);
  const Plan plan = job.plan(0);
  const int repeats = options.repeats.value_or(20);
  const std::string name = pluralised(comm.size(), "rank");
  std::vector<Measurement> all;
  all.push_back(in_microseconds(
      {"vote", name, "empty pass", "s", seconds_of(comm, repeats, calls, [&] { empty_pass(job, plan); })}));
  const Plan filled = job.plan(std::int64_t{64} * comm.size() * job.threads());
  std::vector<char> units(static_cast<std::size_t>(job.local_range(filled).size()));
  all.push_back(
      in_microseconds({"vote", name + ", " + pluralised(job.threads(), "thread"), "pass of empty functions",
                       "s", seconds_of(comm, repeats, calls, [&] { empty_pass(job, filled, units); })}));
  if (!options.peer || comm.is_serial()) return all;
  all.push_back(
      in_microseconds({"vote", name, "MPI_Allreduce of an int", "s", seconds_of(comm, repeats, calls, [&] {
                         int one = 1;
                         MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_MIN, job.comm().native());
                       })}));
  all.push_back(ratio_of(all[0], all[2]));
  return all;
}

}  // namespace

Suite vote_suite() {
  return {"vote", "A pass's vote, beside a plain MPI_Allreduce of one int", run_vote_suite, {}};
}

}  // namespace tessera::bench
