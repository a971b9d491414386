// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "overwrite.hpp"
#include "progress.hpp"

#include <tessera/gam/gam.hpp>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <tessera/tessera.hpp>
#include <utility>

#include "common/file_name.hpp"
#include "common/program_end.hpp"
#include "common/streams.hpp"
#include "common/text.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

using apps::counted;
using Clock = std::chrono::steady_clock;

/// Non-convergence is a result with a warning: the model is written, and the status shows it.
constexpr int status_not_converged = exit_status(ErrorCode::not_converged);

/// As the shell does for a background command of a script.
bool is_ignored(int signal) {
  struct sigaction now {};
  return sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

/// Where the first pass will run; if not on a device, with the reason.
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

/// A text, or that of the file that it names as @FILE.
std::string text_or_file(const std::string& text) {
  constexpr std::int64_t most_bytes = std::int64_t{1} << 30;
  if (!text.starts_with('@')) return text;
  std::string of_file = apps::read_text(text.substr(1), most_bytes);
  if (of_file.ends_with('\n')) of_file.pop_back();
  return of_file;
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

CLI::App* FitCommand::add_to(CLI::App& program) {
  CLI::App* command = program.add_subcommand("fit", "Fit a model to a table and write model.json");
  command->add_option("DATA", data, "Table: CSV (also .csv.gz) or HDF5 with one dataset a column")
      ->required();
  command->add_option("--formula", formula, "Model as in R: 'y ~ f + s(x, bs=\"ps\", k=20)'")->required();
  command
      ->add_option(
          "--family", family,
          fmt::format("{}, also as R has them: \"binomial(probit)\", \"nb(theta=3)\", \"tw(a=1.1)\", "
                      "\"scat(min.df=2)\", \"quasi(log, mu^2)\"; or @FILE: a custom family in TOML",
                      fmt::join(family_names(), ", ")))
      ->type_name("FAMILY")
      ->capture_default_str();
  command->add_option("--link", link, "Link of the family, as --family 'binomial(probit)'");
  command->add_option("--knots", knots, "Limits or knots of a variable: month=0.5,12.5 (repeatable)")
      ->allow_extra_args(false);
  command
      ->add_option("--sp", sp,
                   "Smoothing parameters, in the order of the smooths: 0.6,-1; below 0: estimated")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      ->add_option("--min-sp", min_sp,
                   "What is added to the smoothing parameter of each penalty, as gam's min.sp: 0.1,0,0")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_flag("--select", select,
                    "Penalise the null spaces of smooths, so that they may leave the model");
  command->add_option("--gamma", gamma, "Above 1: smoother, as mgcv's gamma")
      ->check(CLI::Range(1e-3, 1e3))
      ->capture_default_str();
  command->add_option("--weights", weights, "Prior weights: a column, or an expression of R");
  command->add_option("--offset", offset,
                      "Expression that is added in the fit, and is no part of predictions");
  command->add_option("--subset", subset, "Condition on the rows that are fitted, as in R: 'year > 2000'");
  command
      ->add_option(
          "--rho", rho,
          "Correlation of the residuals of neighbouring rows, as bam's rho; auto: that of least fREML")
      ->type_name("NUMBER|auto");
  command->add_option(
      "--ar-start", ar_start,
      "Where a series of such residuals begins, as bam's AR.start: a column or an expression");
  command
      ->add_option(
          "--levels", levels,
          "Levels of a factor in their order, the first of which is the reference: site=cape,bay, in double "
          "quotes where they have , or =; or @FILE with that text; other values are missing (repeatable)")
      ->allow_extra_args(false);
  command
      ->add_option("--ordered", ordered,
                   "Column that is an ordered factor: dose, dose=low,mid,high, or @FILE (repeatable)")
      ->allow_extra_args(false);
  command
      ->add_option("--drop-unused-levels", drop_unused_levels, "Drop the levels that no row of the fit has")
      ->capture_default_str();
  table.add_to(*command, true);
  device.add_to(*command);
  device_failure.add_to(*command);
  sharing.add_to(*command);
  command
      ->add_option("--threads", threads, "Host threads per rank; 0: from OMP_NUM_THREADS, Slurm or the cores")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  command->add_option("--block-rows", block_rows, "Rows per block of the reproducible sums")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->capture_default_str();
  command->add_flag("--no-residuals", no_residuals,
                    "Do not store residuals of sampled rows, typical values and occupancy in the model");
  command->add_option("--max-iterations", max_iterations, "Iteration limit")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command
      ->add_option("--tolerance", tolerance,
                   "Largest relative change of the deviance that ends the iteration")
      ->type_name("NUMBER");
  command
      ->add_option("--step-tolerance", step_tolerance,
                   "Largest relative change of the linear predictor that ends the iteration")
      ->type_name("NUMBER");
  command
      ->add_option("--largest-tested-effect", largest_tested_effect,
                   "Largest random effect, in coefficients, that is tested: a test costs p^3")
      ->check(CLI::Range(0, std::numeric_limits<int>::max()))
      ->capture_default_str();
  command
      ->add_option("--checkpoint", checkpoint,
                   "Checkpoint file, written after every iteration; the same command resumes from it")
      ->check(apps::name_of_whole_file());
  memory.add_to(*command);
  command
      ->add_option(
          "--time-limit", time_limit,
          "Seconds after which the fit stops with status 75, as at SIGUSR1, SIGTERM or SIGINT; 0: no limit")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  collective_timeout.add_to(*command);
  command->add_option("--out", out, "File for the model")
      ->check(apps::name_of_whole_file())
      ->capture_default_str();
  command->add_flag("--json", json, "Print the summary as JSON");
  command->add_option("--run-report", run_report, "File for a report of the run (JSON)")
      ->check(apps::name_of_whole_file());
  return command;
}

int FitCommand::run(mpi::Session& session) const {
  session.set_timeout(collective_timeout.value());
  const mpi::Communicator& world = session.world();
  Progress progress(session.is_root(), stderr);
  const Clock::time_point start = Clock::now();
  StopOptions stop_options;
  if (!is_ignored(SIGINT)) stop_options.signals.push_back(SIGINT);
  stop_options.time_limit = apps::from_seconds(time_limit);
  StopRequest stop(world, stop_options);

  std::optional<Formula> parsed;
  try {
    parsed = parse_formula(formula);
  } catch (const FormulaError& refused) {
    if (session.is_root()) apps::complain_in_lines("tessera-fit", refused.in_lines(formula));
    return exit_status(refused.code());
  }
  const FitOptions options = fit_options(world);
  check_outputs(world);
  Job job(world, job_options(stop));
  const PhaseTime hardware{"hardware", seconds_since(start), 0};
  progress.note(fmt::format("{} on {}; {}", counted(world.size(), "rank"),
                            counted(job.inventory().nodes(), "node"), planned(job)));
  if (!job.host_threads().ignored.empty()) progress.note(job.host_threads().ignored);

  TableFile file{data, table.options()};
  file.options.block_rows = block_rows;
  FitResult result = gam::fit(job, *parsed, file, options, &progress);
  result.phases.insert(result.phases.begin(), hardware);

  const mpi::Purpose purpose(world, "the writing of the model");
  bool is_safe = true;  // the model would survive a power failure
  together(world, [&] {
    if (!session.is_root()) return;
    const SavedModel saved = save_model(result.model, out);
    is_safe = saved.problem.empty();
    if (!is_safe) progress.note(saved.problem + (result.checkpoint ? "; the checkpoint stays" : ""));
    if (!saved.strangers.empty())
      progress.note(apps::staying(saved.strangers,
                                  "named as covariances of the model, but not known to be written by a fit"));
    if (run_report.empty()) return;
    const std::string problem = save_run_report(job, result, saved.checksum, run_report, progress.problem());
    if (!problem.empty()) progress.note(problem);
  });
  // In any other case more iterations would end the same way.
  if (result.checkpoint && !is_cut_short(result.model) && is_safe) result.checkpoint->remove();
  together(world, [&] {
    if (!session.is_root()) return;
    progress.note(fmt::format("{}; {} rows, {}, {:.2f} s", result.model.verdict(), result.model.rows(),
                              counted(result.model.iterations(), "iteration"), seconds_since(start)));
    show(result);
  });
  return result.model.converged() ? EXIT_SUCCESS : status_not_converged;
}

FitOptions FitCommand::fit_options(const mpi::Communicator& world) const {
  std::vector<NamedOption> given{{"family", family}};
  for (const auto& [name, value] : {std::pair("link", link),
                                    {"rho", rho},
                                    {"tolerance", tolerance},
                                    {"step-tolerance", step_tolerance}}) {
    if (!value.empty()) given.push_back({name, value});
  }
  for (const std::string& text : knots) given.push_back({"knots", text});
  FitOptions options;
  together(world, [&] {
    for (const std::string& text : levels) given.push_back({"levels", text_or_file(text)});
    for (const std::string& text : ordered) given.push_back({"ordered", text_or_file(text)});
    read_options(given, options);
  });
  options.weights = weights;
  options.offset = offset;
  options.subset = subset;
  options.ar_start = ar_start;
  options.drop_unused_levels = drop_unused_levels;
  options.sp = sp;
  options.min_sp = min_sp;
  options.select = select;
  options.gamma = gamma;
  options.residuals = !no_residuals;
  options.max_iterations = max_iterations;
  options.largest_tested_effect = largest_tested_effect;
  options.checkpoint = checkpoint;
  options.memory = memory.options();
  return options;
}

JobOptions FitCommand::job_options(StopRequest& stop) const {
  JobOptions options;
  options.policy = device.policy();
  options.on_device_failure = device_failure.action();
  options.score_model = sharing.score_model();
  options.allow_sharing = sharing.allowed;
  options.threads = threads;
  options.collective_timeout = collective_timeout.value();
  options.stop = &stop;
  return options;
}

void FitCommand::check_outputs(const mpi::Communicator& world) const {
  together(world, [&] {
    if (world.rank() != 0) return;
    refuse_to_overwrite({{"--out", out}, {"--run-report", run_report}, {"--checkpoint", checkpoint}},
                        {data, family.starts_with('@') ? family.substr(1) : ""},
                        {.model = out, .checkpoint = checkpoint});
    require_writable(out);
    if (!run_report.empty()) require_writable(run_report);
  });
}

bool FitCommand::is_cut_short(const Model& model) const {
  return !model.converged() && model.no_estimate().empty() && model.iterations() >= max_iterations;
}

void FitCommand::show(const FitResult& result) const {
  const Model& model = result.model;
  // Flushed at once, as mpirun may drop the last output of a rank that ends with a status other than 0.
  std::string lost;
  try {
    apps::write_output(json ? summary_json(model)
                            : fmt::format("{}\nModel written to {}\n", summary(model), out));
    apps::flush_output();
  } catch (const Error& error) {
    lost = error.what();
  }
  if (!model.no_estimate().empty()) {
    apps::say_line({fmt::format("tessera-fit: there is no finite estimate: {}; the last iterate is in {}",
                                model.no_estimate(), out)});
  } else if (!model.converged()) {
    apps::say_line({fmt::format(
        "tessera-fit: not converged after {}: {}; the last iterate is in {}{}",
        counted(model.iterations(), "iteration"), model.why_not_converged(), out,
        result.kept && is_cut_short(model)
            ? fmt::format("; with more --max-iterations the same command resumes from {}", checkpoint)
            : std::string())});
  }
  if (!lost.empty()) throw Error(ErrorCode::input, fmt::format("{}; the model is in {}", lost, out));
}

}  // namespace TESSERA_NAMESPACE::gam
