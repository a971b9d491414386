// SPDX-License-Identifier: Apache-2.0
#include "bam.hpp"
#include "simulated.hpp"
#include "suite.hpp"

#include <tessera/gam/fit.hpp>
#include <tessera/gam/predict.hpp>

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>

#include "files/standard_error.hpp"

namespace tessera::bench {
namespace {

struct PredictSuite {
  std::string model = "G10";  ///< see `SimulatedModel`
  std::int64_t rows = 1'000'000;
  std::int64_t training_rows = 200'000;  ///< maximum number of rows that the model is fitted to
  std::string type = "response";
  int repeats = 3;
  bool peer = true;  ///< compare with mgcv's predict(), if it is installed
};

/// The model's rows, distributed as in `job`.
gam::Table table_of(Job& job, const SimulatedModel& model, std::int64_t rows) {
  const Plan plan = job.plan(rows, 8192);
  return model.table(plan, job.local_range(plan), job.host_team());
}

/// Seconds on the slowest rank, after a warm-up.
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

void add_peer(const SimulatedModel& model, const PredictSuite& suite, int threads, Case& out) {
  const auto bam = run_bam(model, {.rows = suite.rows,
                                   .fitted_rows = std::min(suite.rows, suite.training_rows),
                                   .threads = threads,
                                   .fits = 1,
                                   .predictions = suite.repeats,
                                   .type = suite.type});
  if (!bam) {
    files::say_line({"tessera-bench: predict.bam() is not timed: install R with mgcv"});
    return;
  }
  const auto add = [&](const char* discrete, const char* figure) {
    if (!bam->figures.contains(figure)) return;
    const std::string name =
        fmt::format("predict.bam(discrete = {}), mgcv {}, {} threads", discrete, bam->version, threads);
    out(name, "s").values = bam->figures.at(figure);
    out.add_ratio("with errors / " + name, "with errors", name);
  };
  add("FALSE", "prediction");
  add("TRUE", "discrete_prediction");
}

/// *Collective.* Times predictions of simulated data in memory, without and with standard errors: on the
/// job's hardware, also on the CPU only if it has devices, and on rank 0 by mgcv's predict.bam with as many
/// threads as the job has in all. Rank 0 prints the measurements.
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
  const int threads = threads_of_all(job);
  if (suite.peer) on_root_alone(job.comm(), [&] { add_peer(model, suite, threads, out); });
  return out.take();
}

}  // namespace

Suite predict_suite() {
  const auto chosen = std::make_shared<PredictSuite>();
  return {"predict",
          "Predictions of simulated data in memory, beside predict() of R's mgcv where that is installed",
          in_a_job("predict", chosen, run_predict_suite), [chosen](CLI::App& command) {
            command.add_option("--rows", chosen->rows, "Rows of the table")
                ->check(from_to(1, std::int64_t{1} << 40))
                ->capture_default_str();
            command.add_option("--model", chosen->model, models_text())
                ->check(one_of_models())
                ->capture_default_str();
            command.add_option("--type", chosen->type, "What is predicted")
                ->check(CLI::IsMember({"response", "terms"}))
                ->capture_default_str();
          }};
}

}  // namespace tessera::bench
