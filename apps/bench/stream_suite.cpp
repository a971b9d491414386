// SPDX-License-Identifier: Apache-2.0
#include "simulated_job.hpp"
#include "stream_work.hpp"
#include "suite.hpp"

#include <tessera/error.hpp>
#include <tessera/job/array.hpp>
#include <tessera/job/together.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace tessera::bench {
namespace {

constexpr std::int64_t block_units = 1024;

struct StreamSuite {
  std::int64_t units = std::int64_t{1} << 22;
  int rounds = 64;
  int most_in_flight = 3;
};

/// The arrays of an iterative solver: a matrix of sines, and a state, initially ones, that its steps change.
class IteratedArrays {
 public:
  IteratedArrays(Job& job, std::int64_t units)
      : matrix(job, job.plan(units, block_units), matrix_width), state(job, matrix.plan()), job_(job) {
    double next = static_cast<double>(job.local_range(matrix.plan()).begin) * matrix_width;
    for (double& value : matrix.overwrite()) value = std::sin(next++);
    std::ranges::fill(state.overwrite(), 1.0);
  }

  /// *Collective.* A pass that computes the next state, `rounds` times from the same last one.
  void advance(int rounds) {
    job_.update(
        arrays(matrix.read(), state.read(), state.write()),
        [rounds](Tile& tile, std::span<const double> rows, std::span<const double> last,
                 std::span<double> next) {
          for (int round = 0; round < rounds; ++round)
            advance_on_device(rows.data(), last.data(), next.data(), tile.range().size(), tile.stream());
        },
        [rounds](const HostTile&, std::span<const double> rows, std::span<const double> last,
                 std::span<double> next) {
          for (int round = 0; round < rounds; ++round) advance_on_host(rows, last, next);
        });
  }

  Array<double> matrix;
  Array<double> state;

 private:
  Job& job_;
};

/// A matrix row, the state that is read and the one that is written.
constexpr std::int64_t bytes_per_unit = (matrix_width + 2) * sizeof(double);
/// Size of the tiles relative to the memory that devices may use.
constexpr int excess = 8;

/// The fraction of the devices' memory that is an eighth of the size of their tiles.
double little_memory(const Inventory& inventory, std::int64_t units) {
  std::int64_t total = 0;
  for (const InventoryDevice& device : inventory.devices())
    total = std::max(total, device.total_memory_bytes);
  const std::int64_t on_device = units * bytes_per_unit / std::ssize(inventory.devices());
  return static_cast<double>(on_device) / excess / static_cast<double>(total);
}

std::vector<Measurement> run_stream_suite(const mpi::Communicator& comm, const SuiteOptions& options,
                                          const StreamSuite& suite) {
  JobOptions chosen = job_options(options);
  std::string name;
  {
    const Job job = job_on_devices(comm, chosen);
    chosen.memory_fraction = little_memory(job.inventory(), suite.units);
    name = fmt::format("{} units, {} rounds, {}", suite.units, suite.rounds,
                       pluralised(job.inventory().devices().size(), "device"));
  }
  std::vector<Measurement> all;
  std::vector<double> first_state;
  for (int in_flight = 1; in_flight <= suite.most_in_flight; ++in_flight) {
    chosen.parts_in_flight = in_flight;
    Job job = job_on_devices(comm, chosen);
    IteratedArrays solver(job, suite.units);
    all.push_back({"stream", name, pluralised(in_flight, "part") + " in flight", "s",
                   seconds_of(comm, options.repeats.value_or(5), 1, [&] { solver.advance(suite.rounds); })});
    if (job.on_host()) {
      note(comm, "stream", to_string(job.last_verdict()));
      return {};
    }
    if (in_flight == 1) {
      first_state.assign(solver.state.host().begin(), solver.state.host().end());
      continue;
    }
    all.push_back(ratio_of(all.back(), all.front()));
    together(comm, [&] {
      if (!std::ranges::equal(first_state, solver.state.host()))
        throw Error(ErrorCode::job_fault, fmt::format("{} parts in flight give another state", in_flight));
    });
  }
  return all;
}

}  // namespace

Suite stream_suite() {
  auto chosen = std::make_shared<StreamSuite>();
  return {"stream", "A pass over arrays of eight times the memory of the devices, by parts in flight",
          [chosen](const mpi::Communicator& comm, const SuiteOptions& options) {
            return run_stream_suite(comm, options, *chosen);
          },
          [chosen](CLI::App& command) {
            command.add_option("--units", chosen->units, "Units, of ten doubles each")
                ->check(from_to(1, std::int64_t{1} << 40))
                ->capture_default_str();
            command.add_option("--rounds", chosen->rounds, "Times that the work goes over a part")
                ->check(from_to(1, 1'000'000))
                ->capture_default_str();
            command.add_option("--most-in-flight", chosen->most_in_flight, "Most parts at a time")
                ->check(from_to(1, 8))
                ->capture_default_str();
          }};
}

}  // namespace tessera::bench
