// SPDX-License-Identifier: Apache-2.0
#include "simulated.hpp"
#include "suite.hpp"
#include "timed_fit.hpp"

#include <tessera/gam/options.hpp>

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <array>
#include <memory>

namespace tessera::bench {
namespace {

struct FitSuite {
  std::vector<std::string> models{"G4"};  ///< see `SimulatedModel`
  std::int64_t rows = 1'000'000;
  std::int64_t block_rows = 8192;
  std::string device_memory;
  int repeats = 3;
};

gam::MemoryOptions memory_of(const FitSuite& suite) {
  gam::FitOptions options;
  std::array given{gam::NamedOption{"device-memory", suite.device_memory}};
  if (!suite.device_memory.empty()) gam::read_options(given, options);
  return options.memory;
}

/// *Collective.* Times whole fits of simulated data in memory, by phase, and records peak resident memory.
std::vector<Measurement> run_fit_suite(Job& job, const FitSuite& suite) {
  const mpi::Communicator& comm = job.comm();
  std::vector<Measurement> all;
  for (const std::string& name : suite.models) {
    const SimulatedModel model = simulated_model(name);
    Case out("fit", fmt::format("{}, {} rows", name, suite.rows));
    const Plan plan = job.plan(suite.rows, suite.block_rows);
    const gam::Table table = model.table(plan, job.local_range(plan), job.host_team());
    reset_peak_resident();
    for (int run = 0; run < suite.repeats; ++run) {
      const TimedFit fit = time_fit(job, model, table, memory_of(suite));
      out("tessera", "s").values.push_back(fit.seconds);
      out("tessera, processor", "s").values.push_back(fit.processor_seconds);
      for (const gam::PhaseTime& phase : fit.phases)
        out("tessera: " + phase.name, "s").values.push_back(phase.seconds);
    }
    out("tessera peak", "MB").values = {comm.allreduce(peak_resident_bytes(), mpi::Reduction::sum) / 1e6};
    for (Measurement& measurement : out.take()) all.push_back(std::move(measurement));
  }
  return all;
}

}  // namespace

Suite fit_suite() {
  const auto chosen = std::make_shared<FitSuite>();
  return {"fit", "Whole fits of simulated data in memory", in_a_job("fit", chosen, run_fit_suite),
          [chosen](CLI::App& command) {
            add_options_of_models(command, chosen->rows, chosen->models);
            command.add_option("--block-rows", chosen->block_rows, "Rows per block of the reproducible sums")
                ->check(from_to(1, std::int64_t{1} << 40))
                ->capture_default_str();
            command.add_option("--device-memory", chosen->device_memory,
                               "Memory limit per GPU for columns and workspace, such as 2G (default: half)");
          }};
}

}  // namespace tessera::bench
