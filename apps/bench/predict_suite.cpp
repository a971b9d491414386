// SPDX-License-Identifier: Apache-2.0
#include "bam.hpp"
#include "simulated.hpp"
#include "suite.hpp"

#include <tessera/gam/fit.hpp>
#include <tessera/gam/predict.hpp>

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
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

std::vector<double> time_predictions(Job& job, const gam::Model& fitted, const gam::Table& table,
                                     const gam::PredictOptions& options, int repeats) {
  return seconds_of(job.comm(), repeats, 1, [&] { (void)gam::predict(job, fitted, table, options); });
}

void add_ratio(Case& out, const std::string& ours, const std::string& theirs) {
  const Measurement ratio = ratio_of(out(ours, "s"), out(theirs, "s"));
  out(ratio.what, ratio.unit).values = ratio.values;
}

void add_peer(const SimulatedModel& model, const PredictSuite& suite, int threads, Case& out) {
  const auto bam = run_bam(model, {.rows = suite.rows,
                                   .fitted_rows = std::min(suite.rows, suite.training_rows),
                                   .threads = threads,
                                   .fits = 1,
                                   .predictions = suite.repeats,
                                   .type = suite.type});
  if (!bam) {
    files::say_line({"tessera-bench: R with mgcv is not installed: no predict.bam() beside the predictions"});
    return;
  }
  const auto add = [&](const char* discrete, const std::vector<double>& seconds) {
    if (seconds.empty()) return;
    const std::string name =
        fmt::format("predict.bam(discrete = {}), mgcv {}, {} threads", discrete, bam->version, threads);
    out(name, "s").values = seconds;
    add_ratio(out, "with errors", name);
  };
  add("FALSE", bam->predictions);
  add("TRUE", bam->discrete_predictions);
}

/// *Collective.* Times predictions of simulated data in memory, without and with standard errors: on the
/// job's hardware, on its hosts alone if it has devices, and on rank 0 by mgcv's predict.bam with as many
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
    add_ratio(out, "means", "means, CPU");
    add_ratio(out, "with errors", "with errors, CPU");
  }
  const int threads = threads_of_all(job);
  if (suite.peer) on_root_alone(job.comm(), [&] { add_peer(model, suite, threads, out); });
  return out.take();
}

}  // namespace

Suite predict_suite() {
  const auto chosen = std::make_shared<PredictSuite>();
  Suite suite;
  suite.name = "predict";
  suite.description =
      "Predictions of simulated data in memory, beside predict() of R's mgcv where that is installed";
  suite.add_options = [chosen](CLI::App& command) {
    command.add_option("--rows", chosen->rows, "Rows of the table")
        ->check(from_to(1, std::int64_t{1} << 40))
        ->capture_default_str();
    command.add_option("--model", chosen->model, models_text())
        ->check(one_of_models())
        ->capture_default_str();
    command.add_option("--type", chosen->type, "What is predicted")
        ->check(CLI::IsMember({"response", "terms"}))
        ->capture_default_str();
  };
  suite.run = in_a_job(suite.name, chosen, run_predict_suite);
  return suite;
}

}  // namespace tessera::bench
