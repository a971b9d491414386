// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "common/text.hpp"

#include <CLI/CLI.hpp>

namespace TESSERA_NAMESPACE::gam {

CLI::App* ContrastsCommand::add_to(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "contrasts", "Differences of smooths between levels of a factor, or of predictions of two tables");
  common.add_to(*command);
  command->add_option(
      "TABLE", common.table,
      "Linear predictors of its rows minus those of OTHER; without tables: smooths that differ by "
      "levels of a factor");
  command->add_option("OTHER", common.other, "A table with as many rows as TABLE");
  common.options.add_to(*command, OptionSet::smooths);
  common.options.add_to(*command, OptionSet::predict, {"exclude", "keep"});
  common.options.add_to(*command, OptionSet::table,
                        {"na-strings", "sep", "dec", "comment", "header", "skip"});
  return command;
}

int ContrastsCommand::run(mpi::Session& session, StopRequest& stop) const {
  return common.run(session, stop, [&](Job& job, const Model& model) {
    if (common.table.empty()) return level_differences(job, model, common.options.read<SmoothOptions>());
    if (common.other.empty()) throw apps::usage_error("contrasts: the second table is missing: give OTHER");
    PredictOptions options;
    options.interval = SmoothOptions{}.interval;
    common.options.read(options);
    options.draws = 0;
    const auto table = common.options.read<TableOptions>();
    return table_differences(job, model, Table{common.table, table}, Table{common.other, table}, options);
  });
}

}  // namespace TESSERA_NAMESPACE::gam
