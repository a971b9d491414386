// SPDX-License-Identifier: Apache-2.0
#include "simulated.hpp"
#include "suite.hpp"
#include "timed_fit.hpp"

#include <tessera/job/job.hpp>

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/pluralised.hpp"

namespace tessera::bench {
namespace {

using base::pluralised;

struct ScaleSuite {
  std::vector<std::string> models{"G4"};  ///< see `SimulatedModel`
  std::int64_t rows = 1'000'000;
  int repeats = 3;
};

struct Times {
  int ranks = 0;
  double hardware = 0;  ///< number of devices, or of host threads
  Measurement fit;
  Measurement passes;
};

std::vector<int> numbers_of_ranks(int all) {
  std::vector<int> numbers;
  for (int ranks = 1; ranks < all; ranks *= 2) numbers.push_back(ranks);
  numbers.push_back(all);
  return numbers;
}

/// Times fits in one job over the ranks of `comm`, after a warm-up fit.
Times measure(const mpi::Communicator& comm, const SuiteOptions& options, const ScaleSuite& suite,
              const SimulatedModel& model, Case& out) {
  Job job(comm, job_options(options));
  const Plan plan = job.plan(suite.rows, gam::TableOptions{}.block_rows);
  const gam::Table table = model.table(plan, job.local_range(plan), job.host_team());
  for (int run = -1; run < suite.repeats; ++run) {
    const TimedFit fit = time_fit(job, model, table);
    if (run < 0) continue;
    out("fit", "s").values.push_back(fit.seconds);
    for (const gam::PhaseTime& phase : fit.phases)
      out(phase.name == "rows" ? "passes over the rows" : "fit: " + phase.name, "s")
          .values.push_back(phase.seconds);
  }
  const bool on_devices = plan.on_devices() && !job.on_host();
  const int hardware = on_devices ? static_cast<int>(job.inventory().devices().size()) : threads_of_all(job);
  out(on_devices ? "devices" : "host threads", "1").values = {static_cast<double>(hardware)};
  return {comm.size(), static_cast<double>(hardware), out("fit", "s"), out("passes over the rows", "s")};
}

/// Parallel efficiency: time * hardware on one rank, divided by time * hardware on several.
double efficiency(const Times& one, const Times& several, Measurement Times::*what) {
  return (one.*what).median() * one.hardware / ((several.*what).median() * several.hardware);
}

std::vector<Measurement> run_scale_suite(const mpi::Communicator& comm, const SuiteOptions& options,
                                         ScaleSuite suite) {
  suite.repeats = options.repeats.value_or(suite.repeats);
  std::vector<Measurement> all;
  for (const std::string& name : suite.models) {
    const SimulatedModel model = simulated_model(name);
    Times one;
    for (const int ranks : numbers_of_ranks(comm.size())) {
      Case out("scale", fmt::format("{}, {} rows, {}", name, suite.rows, pluralised(ranks, "rank")));
      const mpi::Communicator part = comm.split(comm.rank() < ranks ? 0 : 1);
      on_first_ranks(comm, ranks, [&] {
        const Times times = measure(part, options, suite, model, out);
        if (ranks == 1) {
          one = times;
        } else {
          // Only rank 0 took part in the fit on one rank.
          if (comm.rank() != 0) return;
          out("fit: efficiency", "1").values = {efficiency(one, times, &Times::fit)};
          out("passes: efficiency", "1").values = {efficiency(one, times, &Times::passes)};
        }
      });
      for (Measurement& measurement : out.take()) all.push_back(std::move(measurement));
    }
  }
  return all;
}

}  // namespace

Suite scale_suite() {
  const auto chosen = std::make_shared<ScaleSuite>();
  return {
      "scale",
      "The same fit on 1, 2, 4, ... ranks, each of which is to see a GPU of its own or a part of the cores",
      [chosen](const mpi::Communicator& comm, const SuiteOptions& options) {
        return run_scale_suite(comm, options, *chosen);
      },
      [chosen](CLI::App& command) { add_options_of_models(command, chosen->rows, chosen->models); }};
}

}  // namespace tessera::bench
