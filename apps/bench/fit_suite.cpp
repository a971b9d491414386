// SPDX-License-Identifier: Apache-2.0
#include "bam.hpp"
#include "simulated.hpp"
#include "suite.hpp"
#include "timed_fit.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "files/standard_error.hpp"
#include "memory_arguments.hpp"

namespace tessera::bench {
namespace {

struct FitSuite {
  std::vector<std::string> models{"G4"};  ///< see `SimulatedModel`
  std::int64_t rows = 1'000'000;
  std::int64_t block_rows = 8192;
  apps::MemoryArguments memory;
  int repeats = 3;
  bool peer = true;  ///< compare with bam(), if it is installed
};

void add_peer(const SimulatedModel& model, const FitSuite& suite, int threads, Case& out) {
  const auto bam = run_bam(model, {.rows = suite.rows, .threads = threads, .fits = suite.repeats});
  if (!bam) {
    files::say_line({"tessera-bench: bam() is not timed: install R with mgcv"});
    return;
  }
  const std::string name = fmt::format("bam{}, mgcv {}, nthreads={}",
                                       model.discrete ? "" : "(discrete=FALSE)", bam->version, threads);
  out(name, "s").values = bam->figures.at("seconds");
  if (bam->figures.contains("processor"))
    out(name + ", processor", "s").values = bam->figures.at("processor");
  out(name + " peak", "MB").values = {bam->peak_resident_bytes / 1e6};
  out.add_ratio("time / bam's, medians", "tessera", name);
  out.add_ratio("memory / bam's", "tessera peak", name + " peak");
}

/// *Collective.* Times whole fits of simulated data in memory, by phase, with peak resident memory, and on
/// rank 0 mgcv's `bam` with as many threads as the job has in all. Rank 0 prints the
/// measurements.
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
      const TimedFit fit = time_fit(job, model, table, suite.memory.options());
      out("tessera", "s").values.push_back(fit.seconds);
      out("tessera, processor", "s").values.push_back(fit.processor_seconds);
      for (const gam::PhaseTime& phase : fit.phases)
        out("tessera: " + phase.name, "s").values.push_back(phase.seconds);
    }
    out("tessera peak", "MB").values = {comm.allreduce(peak_resident_bytes(), mpi::Reduction::sum) / 1e6};
    const int threads = threads_of_all(job);
    if (suite.peer) {
      on_root_alone(comm, [&] { add_peer(model, suite, threads, out); });
    }
    for (Measurement& measurement : out.take()) all.push_back(std::move(measurement));
  }
  return all;
}

}  // namespace

Suite fit_suite() {
  const auto chosen = std::make_shared<FitSuite>();
  return {"fit", "Whole fits of simulated data in memory, beside bam() of R's mgcv where that is installed",
          in_a_job("fit", chosen, run_fit_suite), [chosen](CLI::App& command) {
            add_options_of_models(command, chosen->rows, chosen->models);
            command.add_option("--block-rows", chosen->block_rows, "Rows per block of the reproducible sums")
                ->check(from_to(1, std::int64_t{1} << 40))
                ->capture_default_str();
            chosen->memory.add_to(command);
          }};
}

}  // namespace tessera::bench
