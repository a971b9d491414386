// SPDX-License-Identifier: Apache-2.0
#include "simulated.hpp"
#include "suite.hpp"

#include <tessera/gam/fit.hpp>
#include <tessera/gam/predict.hpp>

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>

namespace tessera::bench {
namespace {

struct PredictSuite {
  std::string model = "G10";  ///< see `SimulatedModel`
  std::int64_t rows = 1'000'000;
  std::int64_t training_rows = 200'000;  ///< maximum number of rows that the model is fitted to
  std::string type = "response";
  int repeats = 3;
};

gam::Table table_of(Job& job, const SimulatedModel& model, std::int64_t rows) {
  const Plan plan = job.plan(rows, 8192);
  return model.table(plan, job.local_range(plan), job.host_team());
}

/// Seconds of each repeat on the slowest rank, after a warm-up.
std::vector<double> time_predictions(Job& job, const gam::Model& fitted, const gam::Table& table,
                                     const gam::PredictOptions& options, int repeats) {
  std::vector<double> seconds;
  for (int repeat = -1; repeat < repeats; ++repeat) {
    job.comm().barrier();
    const auto start = std::chrono::steady_clock::now();
    (void)gam::predict(job, fitted, table, options);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    const double slowest = job.comm().allreduce(elapsed.count(), mpi::Reduction::max);
    if (repeat >= 0) seconds.push_back(slowest);
  }
  return seconds;
}

/// *Collective.* Times predictions of simulated data in memory, without and with standard errors. If the job
/// has devices, repeats the measurement on the CPU.
std::vector<Measurement> run_predict_suite(Job& job, const PredictSuite& suite) {
  const SimulatedModel model = simulated_model(suite.model);
  const gam::Model fitted = gam::fit(job, gam::parse_formula(model.formula()),
                                     table_of(job, model, std::min(suite.rows, suite.training_rows)),
                                     {.family = gam::family(model.family)})
                                .model;
  Case out("predict", fmt::format("{}, {} rows, {}", suite.model, suite.rows, suite.type));
  const auto type = suite.type == "terms" ? gam::PredictionType::terms : gam::PredictionType::response;
  const auto measure = [&](Job& on, const std::string& where) {
    const gam::Table table = table_of(on, model, suite.rows);
    for (const bool standard_errors : {false, true}) {
      out((standard_errors ? "with errors" : "means") + where, "s").values = time_predictions(
          on, fitted, table, {.type = type, .standard_errors = standard_errors}, suite.repeats);
    }
  };
  measure(job, "");
  if (!job.on_host()) {
    JobOptions options = job.options();
    options.policy = Policy::cpu;
    Job hosts(job.comm(), options);
    measure(hosts, ", CPU");
    out.add_ratio("means / means, CPU", "means", "means, CPU");
    out.add_ratio("with errors / with errors, CPU", "with errors", "with errors, CPU");
  }
  return out.take();
}

}  // namespace

Suite predict_suite() {
  const auto chosen = std::make_shared<PredictSuite>();
  return {"predict", "Predictions of simulated data in memory",
          in_a_job("predict", chosen, run_predict_suite), [chosen](CLI::App& command) {
            command.add_option("--rows", chosen->rows, "Rows of the table")
                ->check(from_to(1, std::int64_t{1} << 40))
                ->capture_default_str();
            command.add_option("--model", chosen->model, models_text())
                ->check(one_of_models())
                ->capture_default_str();
            command.add_option("--type", chosen->type, "Type of the predictions")
                ->check(CLI::IsMember({"response", "terms"}))
                ->capture_default_str();
          }};
}

}  // namespace tessera::bench
