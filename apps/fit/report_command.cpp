// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "overwrite.hpp"
#include "progress.hpp"

#include <tessera/gam/output.hpp>
#include <tessera/gam/report.hpp>
#include <tessera/job/together.hpp>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <tessera/tessera.hpp>

#include "common/file_name.hpp"
#include "common/streams.hpp"
#include "common/text.hpp"

namespace TESSERA_NAMESPACE::gam {
CLI::App* ReportCommand::add_to(CLI::App& program) {
  CLI::App* command =
      program.add_subcommand("report", "Write a page with the plots and checks of a model (HTML)");
  command
      ->add_option("MODEL", model,
                   "model.json of a fit; or fits of tessera-fit many --covariances: fits.h5, for how they "
                   "ended, their p values, and the curves of the 20 smallest")
      ->required();
  command->add_option("--run-report", run_report, "Run report of the fit, for the plan and times on the page")
      ->check(apps::file_name());
  command
      ->add_option(
          "--data", data,
          "Table that the model was fitted to, for partial residuals, rugs, maps that end where there "
          "are no rows, residuals by covariates, and the checks of tessera-fit check")
      ->check(apps::file_name());
  options.add_to(*command, OptionSet::table, {"na-strings", "sep", "dec", "comment", "header", "skip"});
  options.add_to(*command, OptionSet::check, {"largest-concurvity", "memory", "scratch"});
  command
      ->add_option(
          "--y-scale", y_scale,
          "Vertical scale of curves: the same for all, except curves that would look flat, or own for each")
      ->check(CLI::IsMember({"same", "own"}))
      ->capture_default_str();
  command
      ->add_option("--figures", figures,
                   "Folder for each figure as SVG and its numbers as CSV; figures.csv lists them")
      ->type_name("DIR")
      ->check(apps::file_name());
  options.add_to(*command, OptionSet::job, {"threads"});
  collective_timeout.add_to(*command);
  command->add_option("--out", out, "File for the page; -: standard output")
      ->check(apps::file_name())
      ->capture_default_str();
  return command;
}

ReportRows ReportCommand::rows(const mpi::Session& session, StopRequest& stop) const {
  if (data.empty()) return {};
  Job job(session.world(), cpu_job_options(options, collective_timeout, stop));
  Progress progress(session.is_root(), stderr);
  std::optional<Model> fitted;
  together(job.comm(), [&] { fitted = load_model(model); });
  return report_rows(job, *fitted, Table{data, options.read<TableOptions>()}, options.read<CheckOptions>(),
                     &progress);
}

std::vector<std::string> ReportCommand::read_files() const {
  std::vector<std::string> files = data;
  files.insert(files.end(), {file_of_model(model), run_report});
  return files;
}

namespace {

/// Whether the path is a whole file of `tessera-fit many`, not a model or one response in such a file.
bool is_file_of_many(const std::string& path) {
  return file_of_model(path) == path && (path.ends_with(".h5") || path.ends_with(".hdf5"));
}

}  // namespace

int ReportCommand::run(mpi::Session& session, StopRequest& stop) const {
  session.set_timeout(collective_timeout.value());
  together(session.world(), [&] {
    if (session.is_root()) refuse_to_overwrite({{"--out", out}}, read_files(), {.model = model});
  });
  const bool of_many = is_file_of_many(model);
  if (of_many && !(data.empty() && run_report.empty()))
    throw apps::usage_error("report: the fits of many responses have no rows and no run report: leave out {}",
                            data.empty() ? "--run-report" : "--data");
  const ReportRows sample = of_many ? ReportRows() : rows(session, stop);
  Report made;
  if (of_many) {
    Job job(session.world(), cpu_job_options(options, collective_timeout, stop));
    made = report_many(job, model);
  }
  together(session.world(), [&] {
    if (!session.is_root()) return;
    Output file(out);
    if (!of_many)
      made = report(load_model(model),
                    {.same_y_scale = y_scale == "same", .run_report = run_report, .rows = sample});
    if (stop.requested()) throw Error(ErrorCode::interrupted, "the job was asked to stop");
    if (!figures.empty()) {
      for (const std::string& path : figure_paths(figures, made.figures))
        refuse_to_overwrite({{"--out", out}, {"--figures", path}}, read_files(), {.model = model});
      if (const std::string problem = save_figures(figures, made.figures); !problem.empty())
        apps::say_line({"tessera-fit: ", problem});
      apps::say_line({"Figures written to ", figures});
    }
    file.write(made.html);
    if (const std::string problem = file.commit(); !problem.empty())
      apps::say_line({"tessera-fit: ", problem});
    apps::say_line({"Report written to ", file.name()});
  });
  return EXIT_SUCCESS;
}

}  // namespace TESSERA_NAMESPACE::gam
