// SPDX-License-Identifier: Apache-2.0
#include "simulated_job.hpp"
#include "suite.hpp"

#include <tessera/job/device_collectives.hpp>
#include <tessera/job/tile.hpp>
#include <tessera/memory/buffer_pool.hpp>

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tessera::bench {
namespace {

struct SumSuite {
  std::int64_t most = std::int64_t{1} << 24;  ///< doubles of the longest array
};

constexpr std::size_t step = 16;
constexpr std::size_t many = std::size_t{1} << 16;  ///< from here on a few calls are long enough to time

/// An array of zeros on each device of this rank.
struct DeviceArrays {
  std::vector<Buffer<double>> on_gpus;
  std::vector<std::vector<double>> simulated;
  std::vector<double*> pointers;
};

DeviceArrays arrays_of(Job& job, std::size_t most) {
  const auto mine = job.inventory().devices_of(job.comm().rank());
  DeviceArrays arrays;
  arrays.on_gpus.resize(mine.size());
  arrays.simulated.resize(mine.size());
  arrays.pointers.resize(mine.size());
  const Plan plan = job.plan(std::ssize(job.inventory().devices()));
  std::vector<char> units(static_cast<std::size_t>(job.local_range(plan).size()));
  job.scatter(
      plan, std::span(units),
      [&](Tile& tile, std::span<char> /*units*/) {
        Buffer<double>& array = arrays.on_gpus[static_cast<std::size_t>(tile.device_index())];
        array = tile.buffers().take<double>(most, tile.stream(), Fill::zero);
        arrays.pointers[static_cast<std::size_t>(tile.device_index())] = array.data();
      },
      [](const HostTile&, std::span<char>) {});
  for (std::size_t device = 0; device < mine.size(); ++device) {
    if (!mine[device].has_host_memory()) continue;
    arrays.simulated[device].resize(most);
    arrays.pointers[device] = arrays.simulated[device].data();
  }
  return arrays;
}

/// The sums of arrays of several lengths on one path.
void measure(const mpi::Communicator& comm, const SuiteOptions& options, DeviceCollectives::Path path,
             std::size_t most, std::vector<Case>& cases) {
  Job job = job_on_devices(comm, job_options(options));
  DeviceArrays arrays = arrays_of(job, most);
  DeviceCollectives collectives = job.collectives();
  const auto start = std::chrono::steady_clock::now();
  const DeviceCollectives::Path opened = collectives.open(path);
  const std::chrono::duration<double> opening = std::chrono::steady_clock::now() - start;
  if (opened != path) return note(comm, "sum", collectives.reason());
  const std::string way = fmt::format("by {}", to_string(path));
  cases.front()("opening, " + way, "s").values = {comm.allreduce(opening.count(), mpi::Reduction::max)};
  const int repeats = options.repeats.value_or(9);
  std::size_t next = 1;
  for (std::size_t count = 1; count <= most; count *= step, ++next) {
    const int calls = count < many ? 100 : 3;
    cases[next](way, "us").values =
        in_microseconds(
            {{},
             {},
             {},
             "s",
             seconds_of(comm, repeats, calls,
                        [&] { collectives.sum(std::span<double* const>(arrays.pointers), count); })})
            .values;
  }
}

std::vector<Measurement> run_sum_suite(const mpi::Communicator& comm, const SuiteOptions& options,
                                       const SumSuite& suite) {
  const auto most = static_cast<std::size_t>(suite.most);
  std::vector<Case> cases{Case("sum", "all lengths, " + pluralised(comm.size(), "rank"))};
  for (std::size_t count = 1; count <= most; count *= step)
    cases.emplace_back("sum", fmt::format("{}, {}", pluralised(static_cast<std::int64_t>(count), "double"),
                                          pluralised(comm.size(), "rank")));
  measure(comm, options, DeviceCollectives::Path::nccl, most, cases);
  if (options.peer) measure(comm, options, DeviceCollectives::Path::hosts, most, cases);
  std::vector<Measurement> all;
  for (Case& one : cases) {
    for (Measurement& measurement : one.take()) all.push_back(std::move(measurement));
  }
  return all;
}

}  // namespace

Suite sum_suite() {
  const auto chosen = std::make_shared<SumSuite>();
  Suite suite;
  suite.name = "sum";
  suite.description =
      "Sums of arrays of several lengths over all devices by NCCL, beside host memory and MPI";
  suite.add_options = [chosen](CLI::App& command) {
    command.add_option("--doubles", chosen->most, "Length of the longest array")
        ->check(from_to(1, std::int64_t{1} << 30))
        ->capture_default_str();
  };
  suite.run = [chosen](const mpi::Communicator& comm, const SuiteOptions& options) {
    return run_sum_suite(comm, options, *chosen);
  };
  return suite;
}

}  // namespace tessera::bench
