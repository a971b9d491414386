// SPDX-License-Identifier: Apache-2.0
// tessera-fit: generalized additive models of large tables, over every rank and GPU of an MPI job.
#include "build_design.hpp"
#include "fit.hpp"
#include "output.hpp"
#include "predict.hpp"
#include "run_report.hpp"
#include "summary.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <string>
#include <tessera/tessera.hpp>
#include <vector>

#include "common/counted.hpp"
#include "common/pages.hpp"

namespace {

using namespace tessera;
using namespace tessera::fit;
using tessera::apps::counted;

struct FitCommand {
  std::string data;
  std::string formula;
  std::string family = "gaussian";
  std::vector<std::string> knots;
  std::string weights;
  std::string device = "auto";
  std::string score_model = "throughput";
  bool allow_sharing = false;
  int threads = 0;
  std::int64_t block_rows = FitOptions{}.block_rows;
  std::string out = "model.json";
  std::string run_report;
};

struct PredictCommand {
  std::string model;
  std::string data;
  std::string type = "link";
  bool standard_errors = false;
  int threads = 0;
  std::string out;
};

/// A non-convergence is an answer with a warning: the model is there, and the status says so.
constexpr int status_not_converged = exit_status(ErrorCode::not_converged);

/// Where the first pass will run, and why if that is not a device.
std::string planned(const Job& job) {
  const Verdict& known = job.last_verdict();
  switch (known.ran) {
    case Verdict::Ran::devices:
      return fmt::format("to run on {}",
                         counted(known.devices, known.simulated ? "simulated device" : "device"));
    case Verdict::Ran::host: return "to run on the CPU: " + known.absence;
    case Verdict::Ran::fallback: return "to run on the CPU: " + to_string(known.failure);
  }
  return {};
}

int run(const FitCommand& command, const mpi::Session& session) {
  const bool root = session.is_root();
  Progress progress(root, stderr);
  const auto start = std::chrono::steady_clock::now();

  const Formula formula = parse_formula(command.formula);
  FitOptions options;
  together(session.world(), [&] { options.family = chosen_family(command.family); });
  options.weights = command.weights;
  options.block_rows = command.block_rows;
  for (const std::string& text : command.knots) options.knots.insert(parse_knots(text));

  // A place that cannot be written is better found before the work than after it.
  together(session.world(), [&] {
    if (!root) return;
    OutputFile model_place(command.out);
    if (!command.run_report.empty()) OutputFile report_place(command.run_report);
  });

  JobOptions job_options;
  job_options.policy = command.device == "cpu"   ? Policy::cpu
                       : command.device == "gpu" ? Policy::gpu
                                                 : Policy::automatic;
  job_options.score_model = command.score_model == "spec" ? ScoreModel::spec : ScoreModel::throughput;
  job_options.allow_sharing = command.allow_sharing;
  job_options.threads = command.threads;

  std::vector<PhaseTime> phases;
  Job job(session.world(), job_options);
  phases.push_back(
      {"hardware", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 0});
  progress.note(fmt::format("{} on {}; {}", counted(session.world().size(), "rank"),
                            counted(job.inventory().nodes(), "node"), planned(job)));
  Plan plan;
  const Model model = fit_file(job, command.data, formula, options, progress, phases, plan);

  together(session.world(), [&] {
    if (!root) return;
    save_model(model, command.out);
    if (!command.run_report.empty()) save_run_report(job, plan, phases, command.run_report);
  });
  if (root) {
    progress.note(fmt::format(
        "{}; {} rows, {}, {:.2f} s", model.verdict, model.rows, counted(model.iterations, "iteration"),
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()));
    fmt::print("{}\nModel written to {}\n", summary_text(model), command.out);
    if (!model.converged) {
      fmt::print(stderr, "tessera-fit: not converged after {} iterations: the last state is in {}\n",
                 model.iterations, command.out);
    }
  }
  return model.converged ? EXIT_SUCCESS : status_not_converged;
}

int run(const PredictCommand& command, const mpi::Session& session) {
  Progress progress(session.is_root(), stderr);
  Model model;
  together(session.world(), [&] { model = load_model(command.model); });
  JobOptions job_options;
  job_options.policy = Policy::cpu;
  job_options.threads = command.threads;
  Job job(session.world(), job_options);
  PredictOptions options;
  options.response = command.type == "response";
  options.standard_errors = command.standard_errors;
  options.out = command.out;
  predict_file(job, model, command.data, options, progress);
  return EXIT_SUCCESS;
}

int summarise(const std::string& path, const mpi::Session& session) {
  if (session.is_root()) fmt::print("{}", summary_text(load_model(path)));
  return EXIT_SUCCESS;
}

/// One line on one rank: the others failed in the same way, by agreement.
void complain(const mpi::Session& session, const char* what) {
  if (session.is_root()) fmt::print(stderr, "tessera-fit: {}\n", what);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Fits generalized additive models to large tables over every rank and GPU of an MPI job.",
               "tessera-fit"};
  app.set_version_flag("--version", std::string("tessera-fit ") + tessera::version);
  app.require_subcommand(1);

  FitCommand fit;
  CLI::App* fit_app = app.add_subcommand("fit", "Fit a model to a table and write model.json");
  fit_app->add_option("DATA", fit.data, "Table: CSV (also .csv.gz) or HDF5 with one dataset a column")
      ->required();
  fit_app->add_option("--formula", fit.formula, "Model as in R: 'y ~ f + s(x, bs=\"ps\", k=20)'")->required();
  fit_app
      ->add_option("--family", fit.family,
                   "gaussian, binomial, poisson, gamma, or @FILE: a family of your own in TOML")
      ->type_name("FAMILY")
      ->capture_default_str();
  fit_app->add_option("--knots", fit.knots, "Limits or knots of a variable: month=0.5,12.5 (may be repeated)")
      ->allow_extra_args(false);
  fit_app->add_option("--weights", fit.weights, "Column of prior weights");
  fit_app->add_option("--device", fit.device, "auto: GPUs if there are any; gpu: GPUs or an error; cpu")
      ->check(CLI::IsMember({"auto", "gpu", "cpu"}))
      ->capture_default_str();
  fit_app->add_option("--score-model", fit.score_model, "How GPUs are weighed against each other")
      ->check(CLI::IsMember({"spec", "throughput"}))
      ->capture_default_str();
  fit_app->add_flag("--allow-sharing", fit.allow_sharing,
                    "Let ranks share a GPU where a node has more ranks");
  fit_app->add_option("--threads", fit.threads, "Host threads a rank; 0: all that it may use")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  fit_app->add_option("--block-rows", fit.block_rows, "Rows in which the order of additions is fixed")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->capture_default_str();
  fit_app->add_option("--out", fit.out, "Where the model goes")->capture_default_str();
  fit_app->add_option("--run-report", fit.run_report, "Where a report of the run goes (JSON)");

  PredictCommand predict;
  CLI::App* predict_app = app.add_subcommand("predict", "Predict the rows of a table from a model");
  predict_app->add_option("MODEL", predict.model, "model.json of a fit")->required();
  predict_app->add_option("DATA", predict.data, "Table with the columns of the formula's right-hand side")
      ->required();
  predict_app->add_option("--type", predict.type, "link: the linear predictor; response: the mean")
      ->check(CLI::IsMember({"link", "response"}))
      ->capture_default_str();
  predict_app->add_flag("--se", predict.standard_errors, "Standard errors too");
  predict_app->add_option("--threads", predict.threads, "Host threads a rank; 0: all that it may use")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  predict_app->add_option("--out", predict.out, "CSV file (default: standard output)");

  std::string summary_model;
  CLI::App* summary_app = app.add_subcommand("summary", "Print the summary of a model, as R's summary.gam");
  summary_app->add_option("MODEL", summary_model, "model.json of a fit")->required();

  app.footer(
      apps::footer("0 answer; 2 usage; 3 input; 4 not converged; 5 device required but absent; 6 job fault"));
  if (apps::prints_page(app, argc, argv)) return EXIT_SUCCESS;

  mpi::Session session(argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& fault) {
    if (fault.get_exit_code() == 0) {
      // Help and version were asked for.
      return session.is_root() ? app.exit(fault) : EXIT_SUCCESS;
    }
    complain(session, fmt::format("{}; see tessera-fit --help", fault.what()).c_str());
    return exit_status(ErrorCode::usage);
  }

  try {
    if (fit_app->parsed()) return run(fit, session);
    if (predict_app->parsed()) return run(predict, session);
    return summarise(summary_model, session);
  } catch (const Error& fault) {
    complain(session, fault.what());
    return exit_status(fault.code());
  } catch (const std::exception& fault) {
    // Not agreed between ranks: the others may be waiting in a collective.
    mpi::abort_job(fmt::format("tessera-fit: rank {}: {}", session.world().rank(), fault.what()),
                   exit_status(ErrorCode::job_fault));
  }
}
