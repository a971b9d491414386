// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "files/output_file.hpp"
#include "gam/design/build_design.hpp"
#include "gam/fit/fit_checkpoint.hpp"
#include "gam/model/model.hpp"
#include "gam/model/overwrite.hpp"
#include "gam/report/run_report.hpp"
#include "gam/report/summary.hpp"
#include "gam/table/shared_input.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <tessera/tessera.hpp>

#include "base/counted.hpp"
#include "common/file_name.hpp"
#include "files/standard_error.hpp"

namespace tessera::gam {
namespace {

using base::counted;

/// A non-convergence is an answer with a warning: the model is there, and the status says so.
constexpr int status_not_converged = exit_status(ErrorCode::not_converged);

/// As a shell has it for a command in the background of a script.
bool is_ignored(int signal) {
  struct sigaction now {};
  return sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

/// Where the first pass will run, and why if that is not a device.
std::string planned(const Job& job) {
  const Verdict& known = job.last_verdict();
  switch (known.ran) {
    case Verdict::Ran::devices:
      return fmt::format("to run on {}",
                         counted(known.devices, known.simulated ? "simulated device" : "device"));
    case Verdict::Ran::host: return "to run on the CPU: " + known.absence;
    case Verdict::Ran::fallback: return "to run on the CPU: " + to_string(known.failure);
    case Verdict::Ran::none: return to_string(known);
  }
  return {};
}

}  // namespace

CLI::App* FitCommand::add_to(CLI::App& program) {
  CLI::App* command = program.add_subcommand("fit", "Fit a model to a table and write model.json");
  command->add_option("DATA", data, "Table: CSV (also .csv.gz) or HDF5 with one dataset a column")
      ->required();
  command->add_option("--formula", formula, "Model as in R: 'y ~ f + s(x, bs=\"ps\", k=20)'")->required();
  command
      ->add_option("--family", family,
                   fmt::format("{}, or @FILE: a family of your own in TOML", fmt::join(family_names(), ", ")))
      ->type_name("FAMILY")
      ->capture_default_str();
  command->add_option("--knots", knots, "Limits or knots of a variable: month=0.5,12.5 (repeat for another)")
      ->allow_extra_args(false);
  command->add_option("--weights", weights, "Column of prior weights");
  table.add_to(*command, true);
  command->add_option("--device", device, "auto: GPUs if there are any; gpu: GPUs or an error; cpu")
      ->check(CLI::IsMember({"auto", "gpu", "cpu"}))
      ->capture_default_str();
  command->add_option("--score-model", score_model, "How GPUs are weighed against each other")
      ->check(CLI::IsMember({"spec", "throughput"}))
      ->capture_default_str();
  command->add_flag("--allow-sharing", allow_sharing, "Let ranks share a GPU where a node has more ranks");
  command->add_option("--threads", threads, "Host threads a rank; 0: by OMP_NUM_THREADS, Slurm or cores")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  command->add_option("--block-rows", block_rows, "Rows in which the order of additions is fixed")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->capture_default_str();
  command->add_flag("--no-residuals", no_residuals, "Keep no residuals of sampled rows in the model");
  command->add_option("--max-iterations", max_iterations, "Iterations after which the fit has not converged")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command
      ->add_option("--checkpoint", checkpoint,
                   "Keep the state here after every iteration; the same command goes on from it")
      ->check(apps::file_name());
  command
      ->add_option(
          "--time-limit", time_limit,
          "Stop after so many seconds, as at SIGUSR1, SIGTERM or SIGINT, with status 75; 0: no limit")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  collective_timeout.add_to(*command);
  command->add_option("--out", out, "Where the model goes")->check(apps::file_name())->capture_default_str();
  command->add_option("--run-report", run_report, "Where a report of the run goes (JSON)")
      ->check(apps::file_name());
  return command;
}

int FitCommand::run(mpi::Session& session) const {
  session.set_timeout(collective_timeout.value());
  const bool root = session.is_root();
  Progress progress(root, stderr);
  const auto start = std::chrono::steady_clock::now();
  StopOptions stop_options;
  if (!is_ignored(SIGINT)) stop_options.signals.push_back(SIGINT);
  stop_options.time_limit = apps::from_seconds(time_limit);
  StopRequest stop(session.world(), stop_options);

  const Formula parsed = parse_formula(formula);
  FitOptions options;
  together(session.world(), [&] { options.family = chosen_family(family); });
  if (options.family.custom())
    require_same_content(session.world(), family.substr(1), to_toml(*options.family.custom()));
  options.weights = weights;
  options.table = table.options();
  options.block_rows = block_rows;
  options.residuals = !no_residuals;
  options.max_iterations = max_iterations;
  for (const std::string& text : knots) {
    const auto [given, first] = options.knots.insert(parse_knots(text));
    if (!first)
      throw Error(ErrorCode::usage, fmt::format("--knots '{}': {} has knots already", text, given->first));
  }

  // A place that cannot be written is better found before the work than after it.
  together(session.world(), [&] {
    if (!root) return;
    refuse_to_overwrite({{"--out", out},
                         {"--run-report", run_report},
                         {"--checkpoint", checkpoint},
                         {"--checkpoint", checkpoint.empty() ? "" : checkpoint + ".previous"}},
                        {data, family.starts_with('@') ? family.substr(1) : ""}, out);
    files::OutputFile model_place(out);
    if (!run_report.empty()) files::OutputFile report_place(run_report);
  });

  JobOptions job_options;
  job_options.policy = device == "cpu" ? Policy::cpu : device == "gpu" ? Policy::gpu : Policy::automatic;
  job_options.score_model = score_model == "spec" ? ScoreModel::spec : ScoreModel::throughput;
  job_options.allow_sharing = allow_sharing;
  job_options.threads = threads;
  job_options.collective_timeout = collective_timeout.value();
  job_options.stop = &stop;

  std::vector<PhaseTime> phases;
  Job job(session.world(), job_options);
  phases.push_back(
      {"hardware", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 0});
  progress.note(fmt::format("{} on {}; {}", counted(session.world().size(), "rank"),
                            counted(job.inventory().nodes(), "node"), planned(job)));
  if (!job.host_threads().ignored.empty()) progress.note(job.host_threads().ignored);
  Fingerprint fingerprint;
  files::FileState table_file;
  together(session.world(), [&] {
    if (root && !checkpoint.empty()) fingerprint = fingerprint_of(data, parsed, options, &table_file);
  });
  FitCheckpoint fit_checkpoint(job, checkpoint, fingerprint, device == "gpu", progress);
  Plan plan;
  const Model model = [&] {
    try {
      return fit_file(job, data, parsed, options, progress, phases, plan,
                      {&fit_checkpoint, &stop, checkpoint.empty() ? nullptr : &table_file});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::interrupted) throw;
    }
    (void)stop.agree();
    fit_checkpoint.stop(stop.cause());
  }();

  const mpi::Purpose purpose(session.world(), "the writing of the model");
  together(session.world(), [&] {
    if (!root) return;
    const std::string checksum = save_model(model, out);
    if (run_report.empty()) return;
    RunEnd end{.converged = model.converged,
               .iterations = model.iterations,
               .resumed_from = {},
               .log_problem = progress.problem()};
    if (fit_checkpoint.resumed() && fit_checkpoint.resumed()->iteration > 0)
      end.resumed_from = fit_checkpoint.resumed()->iteration;
    save_run_report(job, plan, phases, end, checksum, run_report);
  });
  // More iterations would not find an estimate where there is none.
  if (model.converged || !model.no_estimate.empty()) fit_checkpoint.answered();
  if (root) {
    progress.note(fmt::format(
        "{}; {} rows, {}, {:.2f} s", model.verdict, model.rows, counted(model.iterations, "iteration"),
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()));
    // The model is written: a full disk behind standard output does not fail the fit. Flushed at once, as
    // mpirun may drop the last output of a rank that ends with another status than 0.
    files::say(fmt::format("{}\nModel written to {}\n", summary_text(model), out), stdout);
    if (!model.no_estimate.empty()) {
      files::say_line({fmt::format("tessera-fit: there is no finite estimate: {}; the last state is in {}",
                                   model.no_estimate, out)});
    } else if (!model.converged) {
      files::say_line({fmt::format(
          "tessera-fit: not converged after {}: the last state is in {}{}",
          counted(model.iterations, "iteration"), out,
          fit_checkpoint.kept() && model.iterations == max_iterations
              ? fmt::format("; with more --max-iterations the same command goes on from {}", checkpoint)
              : std::string())});
    }
  }
  return model.converged ? EXIT_SUCCESS : status_not_converged;
}

}  // namespace tessera::gam
