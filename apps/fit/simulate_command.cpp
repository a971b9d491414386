// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "progress.hpp"

#include <tessera/error.hpp>
#include <tessera/gam/options.hpp>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

CLI::App* SimulateCommand::add_to(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "simulate", "Draw coefficients and smooths from the posterior distribution, or new responses");
  common.add_to(*command);
  command->add_option("TABLE", common.table, "Of responses: the table with the predictors of the formula");
  command
      ->add_option(
          "--what", what,
          "coefficients: a row for each draw; smooths: on their grids; responses: of the table's rows at "
          "their estimated means")
      ->check(CLI::IsMember({"coefficients", "smooths", "responses"}))
      ->required();
  command->add_option("--draws", draws, "Their number")
      ->check(CLI::Range(1, 100'000'000))
      ->capture_default_str();
  command->add_option("--seed", seed, "Of the random numbers")->capture_default_str();
  command->add_flag("--unconditional", unconditional,
                    "Draws of the coefficients with the uncertainty of the smoothing parameters");
  command->add_flag("--posterior-predictive", posterior_predictive,
                    "Of responses: each draw at a draw of the coefficients in place of the estimate");
  command->add_option("--terms", terms, "Only these smooths, comma-separated; default: all")
      ->allow_extra_args(false);
  command->add_option("--points", points, "Points of each number of a smooth, as those of smooths")
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();
  command->add_option("--weights", weights,
                      "Of responses: the table's column of prior weights, or of binomial trials; default: 1");
  add_new_levels(*command, new_levels);
  command->add_option("--keep", keep, "Of responses: columns of the table to carry along, comma-separated")
      ->allow_extra_args(false);
  table.add_to(*command, false);
  return command;
}

int SimulateCommand::run(mpi::Session& session) const {
  if ((what == "responses") == common.table.empty())
    throw Error(ErrorCode::usage, what == "responses" ? "simulate: responses are of the rows of a table"
                                                      : "simulate: only responses take a table");
  if (posterior_predictive && what != "responses")
    throw Error(ErrorCode::usage, "simulate: --posterior-predictive is of responses");
  SimulateOptions options;
  std::vector<NamedOption> given{{"new-levels", new_levels}};
  read_options(given, options);
  options.draws = draws;
  options.seed = seed;
  options.unconditional = unconditional;
  options.posterior_predictive = posterior_predictive;
  options.weights = weights;
  options.keep = labels_in(keep);
  if (what == "coefficients")
    return common.run(
        session, [&](Job& job, const Model& model) { return simulate_coefficients(job, model, options); });
  if (what == "smooths") {
    SmoothOptions smooths;
    if (!terms.empty()) smooths.terms = labels_in(terms);
    smooths.points = points;
    return common.run(session, [&](Job& job, const Model& model) {
      return simulate_smooths(job, model, options, smooths);
    });
  }
  Progress progress(session.is_root(), stderr);
  return common.run_in_parts(session, [&](Job& job, const Model& model, PosteriorArguments::Take take) {
    return simulate_responses(job, model, {common.table, table.options()}, take, options, &progress);
  });
}

}  // namespace TESSERA_NAMESPACE::gam
