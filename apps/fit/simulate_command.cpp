// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "common/text.hpp"
#include "progress.hpp"

#include <tessera/error.hpp>
#include <tessera/gam/options.hpp>

#include <CLI/CLI.hpp>
#include <cstdio>

namespace TESSERA_NAMESPACE::gam {

CLI::App* SimulateCommand::add_to(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "simulate", "Draw coefficients and smooths from the posterior distribution, or new responses");
  common.add_to(*command);
  command->add_option("TABLE", common.table, "For responses: the table with the predictors of the formula");
  command
      ->add_option("--what", what,
                   "coefficients: a row for each draw; smooths: on their grids; responses: new ones for the "
                   "table's rows at "
                   "their estimated means")
      ->check(CLI::IsMember({"coefficients", "smooths", "responses"}))
      ->required();
  common.options.add_to(*command, OptionSet::simulate);
  common.options.add_to(*command, OptionSet::smooths, {"terms", "points"});
  common.options.add_to(*command, OptionSet::table,
                        {"na-strings", "sep", "dec", "comment", "header", "skip"});
  return command;
}

int SimulateCommand::run(mpi::Session& session, StopRequest& stop) const {
  if ((what == "responses") == common.table.empty())
    throw Error(ErrorCode::usage,
                what == "responses" ? "simulate: --what responses needs a table: give TABLE"
                                    : "simulate: TABLE can be used only with --what responses: remove TABLE");
  const auto options = common.options.read<SimulateOptions>();
  if (options.posterior_predictive && what != "responses")
    throw apps::usage_error("simulate: --posterior-predictive needs responses: give --what responses");
  if (what == "coefficients")
    return common.run(session, stop, [&](Job& job, const Model& model) {
      return simulate_coefficients(job, model, options);
    });
  if (what == "smooths") {
    const auto smooths = common.options.read<SmoothOptions>();
    return common.run(session, stop, [&](Job& job, const Model& model) {
      return simulate_smooths(job, model, options, smooths);
    });
  }
  Progress progress(session.is_root(), stderr);
  return common.run_in_parts(session, stop, [&](Job& job, const Model& model, PosteriorArguments::Take take) {
    return simulate_responses(job, model, Table{common.table, common.options.read<TableOptions>()}, take,
                              options, &progress);
  });
}

}  // namespace TESSERA_NAMESPACE::gam
