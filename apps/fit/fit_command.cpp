// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "overwrite.hpp"
#include "progress.hpp"

#include <tessera/gam/gam.hpp>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <tessera/tessera.hpp>

#include "common/file_name.hpp"
#include "common/program_end.hpp"
#include "common/streams.hpp"
#include "common/text.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

using apps::pluralised;
using Clock = std::chrono::steady_clock;

/// Exit status of a fit that did not converge; the model is nevertheless written, with a warning.
constexpr int status_not_converged = exit_status(ErrorCode::not_converged);

/// Where the first pass will run and, if on the CPU, why.
std::string planned(const Job& job) {
  const Verdict& known = job.last_verdict();
  switch (known.ran) {
    case Verdict::Ran::devices:
      return fmt::format("to run on {}",
                         pluralised(known.devices, known.simulated ? "simulated device" : "device"));
    case Verdict::Ran::host: return "to run on the CPU: " + known.absence;
    case Verdict::Ran::fallback: return "to run on the CPU: " + to_string(known.failure);
    case Verdict::Ran::none: return to_string(known);
  }
  return {};
}

/// The text itself or, for "@FILE", the file's content.
std::string text_or_file(const std::string& text) {
  constexpr std::int64_t most_bytes = std::int64_t{1} << 30;
  if (!text.starts_with('@')) return text;
  std::string of_file = apps::read_text(text.substr(1), most_bytes);
  if (of_file.ends_with('\n')) of_file.pop_back();
  return of_file;
}

/// Whether the fit ended at the maximum number of iterations before convergence.
bool is_cut_short(const Model& model, const FitOptions& fit) {
  return !model.converged() && model.no_estimate().empty() && model.iterations() >= fit.max_iterations;
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

CLI::App* FitCommand::add_to(CLI::App& program) {
  CLI::App* command = program.add_subcommand("fit", "Fit a model to a table and write model.json");
  command
      ->add_option(
          "DATA", data,
          "Table: files or folders of files: text (CSV, TSV and similar, also packed), HDF5 with one "
          "dataset per column, Parquet or Feather; several are one table; -: standard input")
      ->required();
  command
      ->add_option(
          "--formula", formulas,
          "Model as in R: 'y ~ f + s(x, bs=\"ps\", k=20)'; once more, without response, for each further "
          "linear predictor of the family: '~ s(x)'")
      ->required()
      ->allow_extra_args(false);
  options.add_to(*command, OptionSet::fit);
  command->get_option("--checkpoint")->check(apps::name_of_whole_file());
  for (const char* name : {"--levels", "--ordered"}) {
    CLI::Option* lists = command->get_option(name);
    lists->description(lists->get_description() + "; @FILE: the text of a file");
  }
  options.add_to(*command, OptionSet::table);
  options.add_to(*command, OptionSet::job);
  time_limit.add_to(*command);
  collective_timeout.add_to(*command);
  command->add_option("--out", out, "File for the model")
      ->check(apps::name_of_whole_file())
      ->capture_default_str();
  command->add_flag("--json", json, "Print the summary as JSON");
  command->add_option("--run-report", run_report, "File for a report of the run (JSON)")
      ->check(apps::name_of_whole_file());
  return command;
}

int FitCommand::run(mpi::Session& session, StopRequest& stop) const {
  session.set_timeout(collective_timeout.value());
  const mpi::Communicator& world = session.world();
  Progress progress(session.is_root(), stderr);
  const Clock::time_point start = Clock::now();
  const std::string formula =
      formulas.size() == 1 ? formulas[0] : fmt::format("list({})", fmt::join(formulas, ", "));
  std::optional<Formula> parsed;
  try {
    parsed = parse_formula(formula);
  } catch (const FormulaError& refused) {
    if (session.is_root()) apps::complain_in_lines("tessera-fit", refused.in_lines(formula));
    return exit_status(refused.code());
  }
  std::vector<QuantileFamily> families = quantile_families(options.value_of("family"));
  if (families.empty()) families.push_back({0, options.value_of("family")});
  const std::size_t count = families.size();
  std::vector<FitOptions> fits;
  std::vector<std::string> outs;
  for (const QuantileFamily& one : families) {
    fits.push_back(fit_options(world, one.text));
    outs.push_back(count == 1 ? out : out_of_quantile(one.qu));
  }
  check_outputs(world, fits.front(), outs);
  Job job(world, job_options(options, collective_timeout, stop));
  const PhaseTime hardware{"hardware", seconds_since(start), 0};
  progress.note(fmt::format("{} on {}; {}", pluralised(world.size(), "rank"),
                            pluralised(job.inventory().nodes(), "node"), planned(job)));
  if (!job.host_threads().ignored.empty()) progress.note(job.host_threads().ignored);

  const Table table{data, options.read<TableOptions>()};
  std::vector<Model> models;
  int status = EXIT_SUCCESS;
  for (std::size_t i = 0; i < count; ++i) {
    FitResult result = gam::fit(job, *parsed, table, fits[i], &progress);
    result.phases.insert(result.phases.begin(), hardware);
    finish(session, job, progress, result, fits[i], outs[i], start);
    if (!result.model.converged()) status = status_not_converged;
    models.push_back(std::move(result.model));
  }
  if (count > 1)
    progress.note(fmt::format("quantiles cross in {} rows of the table", crossing_rows(job, models, table)));
  return status;
}

void FitCommand::finish(mpi::Session& session, Job& job, Progress& progress, FitResult& result,
                        const FitOptions& fit, const std::string& path,
                        std::chrono::steady_clock::time_point start) const {
  const mpi::Communicator& world = session.world();
  const mpi::Purpose purpose(world, "the writing of the model");
  bool is_safe = true;  // whether the model would survive a power failure
  together(world, [&] {
    if (!session.is_root()) return;
    const SavedModel saved = save_model(result.model, path);
    is_safe = saved.problem.empty();
    if (!is_safe) progress.note(saved.problem + (result.checkpoint ? "; the checkpoint is kept" : ""));
    if (!saved.strangers.empty())
      progress.note(apps::staying(
          saved.strangers, "named like covariance files of the model, but perhaps not written by a fit"));
    if (run_report.empty()) return;
    const std::string problem = save_run_report(job, result, saved.checksum, run_report, progress.problem());
    if (!problem.empty()) progress.note(problem);
  });
  // Keep the checkpoint if a later run can resume from it, or if the model may be lost.
  if (result.checkpoint && !is_cut_short(result.model, fit) && is_safe) result.checkpoint->remove();
  together(world, [&] {
    if (!session.is_root()) return;
    progress.note(fmt::format("{}; {} rows, {}, {:.2f} s", result.model.verdict(), result.model.rows(),
                              pluralised(result.model.iterations(), "iteration"), seconds_since(start)));
    show(result, fit, path);
  });
}

std::string FitCommand::out_of_quantile(double qu) const {
  const std::size_t end = out.ends_with(".json") ? out.size() - 5 : out.size();
  return fmt::format("{}-{}{}", out.substr(0, end), qu, out.substr(end));
}

FitOptions FitCommand::fit_options(const mpi::Communicator& world, const std::string& family) const {
  FitOptions read;
  together(world, [&] {
    std::vector<NamedOption> given = options.given();
    for (NamedOption& one : given) {
      if (one.name == "--levels" || one.name == "--ordered") one.value = text_or_file(one.value);
      if (one.name == "--family") one.value = family;
    }
    read_options(given, read);
  });
  return read;
}

void FitCommand::check_outputs(const mpi::Communicator& world, const FitOptions& fit,
                               const std::vector<std::string>& outs) const {
  together(world, [&] {
    if (outs.size() > 1 && (!fit.checkpoint.empty() || !run_report.empty() || data.front() == "-"))
      throw apps::usage_error(
          "a checkpoint, a run report and standard input can be used with only one quantile: fit each "
          "quantile separately");
    if (world.rank() != 0) return;
    const std::string family = options.value_of("family");
    std::vector<std::string> read = data;
    if (family.starts_with('@')) read.push_back(family.substr(1));
    for (const std::string& path : outs) {
      refuse_to_overwrite({{"--out", path}, {"--run-report", run_report}, {"--checkpoint", fit.checkpoint}},
                          read, {.model = path, .checkpoint = fit.checkpoint});
      require_writable(path);
    }
    if (!run_report.empty()) require_writable(run_report);
  });
}

void FitCommand::show(const FitResult& result, const FitOptions& fit, const std::string& path) const {
  const Model& model = result.model;
  // Flush here: mpirun may lose the last output of a rank that ends with a nonzero status.
  std::string lost;
  try {
    apps::write_output(json ? summary_json(model)
                            : fmt::format("{}\nModel written to {}\n", summary(model), path));
    apps::flush_output();
  } catch (const Error& error) {
    lost = error.what();
  }
  if (!model.no_estimate().empty()) {
    apps::say_line({fmt::format("tessera-fit: there is no finite estimate: {}; the last iterate is in {}",
                                model.no_estimate(), path)});
  } else if (!model.converged()) {
    apps::say_line({fmt::format(
        "tessera-fit: the fit has not converged after {}: {}; the last iterate is in {}{}",
        pluralised(model.iterations(), "iteration"), model.why_not_converged(), path,
        result.kept && is_cut_short(model, fit)
            ? fmt::format("; to resume from {}, run the same command with a larger --max-iterations",
                          fit.checkpoint)
            : std::string())});
  }
  if (!lost.empty()) throw apps::input_error("{}; the model is in {}", lost, path);
}

}  // namespace TESSERA_NAMESPACE::gam
