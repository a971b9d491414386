// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"

#include <tessera/error.hpp>

#include <CLI/CLI.hpp>

namespace tessera::gam {

CLI::App* ContrastsCommand::add_to(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "contrasts", "Differences of smooths between levels of a factor, or of predictions of two tables");
  common.add_to(*command);
  command
      ->add_option("TABLES", common.tables,
                   "Two tables with as many rows: linear predictors of the first less those of the second; "
                   "without them, smooths that differ by levels of a factor")
      ->expected(0, 2);
  smooths.add_to(*command);
  command->add_option("--exclude", exclude, "Of tables: without these terms")->allow_extra_args(false);
  command->add_option("--keep", keep, "Columns of the first table to carry along, comma-separated")
      ->allow_extra_args(false);
  table.add_to(*command, false);
  return command;
}

int ContrastsCommand::run(mpi::Session& session) const {
  return common.run(session, [&](Job& job, const Model& model) {
    if (common.tables.empty()) return level_differences(job, model, smooths.options());
    if (common.tables.size() == 1)
      throw Error(ErrorCode::usage, "contrasts: one table is given, and a difference is of two");
    PredictOptions options;
    options.terms = smooths.options().terms;
    options.exclude = labels_in(exclude);
    options.keep = labels_in(keep);
    options.interval = smooths.interval;
    options.unconditional = smooths.unconditional;
    return table_differences(job, model, {common.tables[0], table.options()},
                             {common.tables[1], table.options()}, options);
  });
}

}  // namespace tessera::gam
