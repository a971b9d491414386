// SPDX-License-Identifier: Apache-2.0
#include "simulated_job.hpp"
#include "suite.hpp"

#include <tessera/job/array.hpp>

#include <fmt/core.h>

#include <thread>

namespace tessera::bench {
namespace {

/// The alternative without persistent threads: spawn one per device, bind it, join it.
void spawn_bind_join(DevicePool& pool) {
  std::vector<std::jthread> threads;
  threads.reserve(pool.size());
  for (std::size_t i = 0; i < pool.size(); ++i)
    threads.emplace_back([&pool, i] { pool.context_at(i).bind(); });
}

std::vector<Measurement> run_scatter_suite(const mpi::Communicator& comm, const SuiteOptions& options) {
  Job job = job_on_devices(comm, job_options(options));
  const auto devices = static_cast<std::int64_t>(job.inventory().devices().size());
  const Plan plan = job.plan(16 * devices);
  std::vector<char> units(static_cast<std::size_t>(job.local_range(plan).size()));
  const int repeats = options.repeats.value_or(20);
  constexpr int calls = 100;
  const std::string name = fmt::format(
      "{}, {}", pluralised(comm.size(), "rank"),
      pluralised(devices, job.inventory().devices()[0].simulated ? "simulated device" : "device"));

  std::vector<Measurement> all;
  all.push_back(in_microseconds(
      {"scatter", name, "empty tiles, to verdict", "s", seconds_of(comm, repeats, calls, [&] {
         job.scatter(
             plan, std::span(units), [](Tile&, std::span<char>) {}, [](const HostTile&, std::span<char>) {});
       })}));
  if (job.on_host()) {
    note(comm, "scatter", to_string(job.last_verdict()));
    return {};
  }
  Array<char> array(job, plan);
  all.push_back(in_microseconds(
      {"scatter", name, "the same over an array", "s", seconds_of(comm, repeats, calls, [&] {
         job.update(
             arrays(array.modify()), [](Tile&, std::span<char>) {}, [](const HostTile&, std::span<char>) {});
       })}));
  if (!options.peer) return all;
  all.push_back(in_microseconds({"scatter", name, "spawn, bind, join", "s",
                                 seconds_of(comm, repeats, calls, [&] { spawn_bind_join(job.devices()); })}));
  all.push_back(ratio_of(all[0], all[2]));
  return all;
}

}  // namespace

Suite scatter_suite() {
  return {"scatter",
          "Passes of empty tiles on every device, beside threads spawned for each call",
          run_scatter_suite,
          {}};
}

}  // namespace tessera::bench
