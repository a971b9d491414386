// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "progress.hpp"

#include <tessera/gam/check.hpp>
#include <tessera/gam/report.hpp>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <tessera/tessera.hpp>

#include "common/streams.hpp"

namespace TESSERA_NAMESPACE::gam {

CLI::App* CheckCommand::add_to(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "check", "Check a model against its table: bases (k.check), residuals, concurvity");
  command->add_option("MODEL", model, "model.json of a fit")->required();
  command->add_option("DATA", data, "The table that the model was fitted to: files or folders")->required();
  options.add_to(*command, OptionSet::check);
  options.add_to(*command, OptionSet::table,
                 {"na-strings", "factor", "numeric", "date", "sep", "dec", "comment", "header", "skip"});
  options.add_to(*command, OptionSet::job, {"threads"});
  command->add_flag("--json", json, "Print JSON");
  collective_timeout.add_to(*command);
  return command;
}

int CheckCommand::run(mpi::Session& session, StopRequest& stop) const {
  session.set_timeout(collective_timeout.value());
  Progress progress(session.is_root(), stderr);
  std::optional<Model> fitted;
  together(session.world(), [&] { fitted = load_model(model); });
  Job job(session.world(), cpu_job_options(options, collective_timeout, stop));
  const auto wanted = options.read<CheckOptions>();
  const Check found = check(job, *fitted, Table{data, options.read<TableOptions>()}, wanted, &progress);
  together(session.world(), [&] {
    if (!session.is_root()) return;
    apps::write_output(json ? check_json(found, wanted) : check_text(found, wanted));
    apps::flush_output();
  });
  return EXIT_SUCCESS;
}

}  // namespace TESSERA_NAMESPACE::gam
