// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "files/output_stream.hpp"
#include "gam/model/overwrite.hpp"

#include <tessera/gam/report.hpp>
#include <tessera/job/together.hpp>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "common/file_name.hpp"
#include "files/standard_error.hpp"

namespace tessera::gam {
CLI::App* ReportCommand::add_to(CLI::App& program) {
  CLI::App* command =
      program.add_subcommand("report", "Write a page with the plots and checks of a model (HTML)");
  command->add_option("MODEL", model, "model.json of a fit")->required();
  command
      ->add_option("--run-report", run_report,
                   "Report of the run that fitted the model, for its plan and times")
      ->check(apps::file_name());
  command->add_option("--y-scale", y_scale, "Vertical axes of curves: one scale for all, or one each")
      ->check(CLI::IsMember({"same", "own"}))
      ->capture_default_str();
  command->add_option("--out", out, "File for the page; -: standard output")
      ->check(apps::file_name())
      ->capture_default_str();
  return command;
}

int ReportCommand::run(const mpi::Session& session) const {
  together(session.world(), [&] {
    if (!session.is_root()) return;
    refuse_to_overwrite({{"--out", out}}, {model, run_report}, {.model = model});
    files::OutputStream file(out);
    file.write(report_html(load_model(model), {.same_y_scale = y_scale == "same", .run_report = run_report}));
    if (const std::string problem = file.commit(); !problem.empty())
      files::say_line({"tessera-fit: ", problem});
    files::say_line({"Report written to ", file.name()});
  });
  return EXIT_SUCCESS;
}

}  // namespace tessera::gam
