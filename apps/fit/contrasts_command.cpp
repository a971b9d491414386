// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"

#include <tessera/error.hpp>

#include <CLI/CLI.hpp>

namespace TESSERA_NAMESPACE::gam {

CLI::App* ContrastsCommand::add_to(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "contrasts", "Differences of smooths between levels of a factor, or of predictions of two tables");
  common.add_to(*command);
  command->add_option(
      "TABLE", common.table,
      "Linear predictors of its rows, less those of OTHER; without both, smooths that differ by "
      "levels of a factor");
  command->add_option("OTHER", common.other, "A table with as many rows");
  smooths.add_to(*command);
  command->add_option("--exclude", exclude, "Of tables: without these terms")->allow_extra_args(false);
  command->add_option("--keep", keep, "Columns of the first table to carry along, comma-separated")
      ->allow_extra_args(false);
  table.add_to(*command, false);
  return command;
}

int ContrastsCommand::run(mpi::Session& session) const {
  return common.run(session, [&](Job& job, const Model& model) {
    if (common.table.empty()) return level_differences(job, model, smooths.options());
    if (common.other.empty())
      throw Error(ErrorCode::usage, "contrasts: one table is given, and a difference is of two");
    PredictOptions options;
    options.terms = smooths.options().terms;
    options.exclude = labels_in(exclude);
    options.keep = labels_in(keep);
    options.interval = smooths.interval;
    options.unconditional = smooths.unconditional;
    return table_differences(job, model, {common.table, table.options()}, {common.other, table.options()},
                             options);
  });
}

}  // namespace TESSERA_NAMESPACE::gam
