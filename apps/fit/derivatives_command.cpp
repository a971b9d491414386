// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"

#include <CLI/CLI.hpp>

namespace TESSERA_NAMESPACE::gam {

CLI::App* DerivativesCommand::add_to(CLI::App& program) {
  CLI::App* command = program.add_subcommand("derivatives", "Derivatives of smooths on a grid, with bands");
  command->add_option("--order", order, "First or second derivatives")
      ->check(CLI::Range(1, 2))
      ->capture_default_str();
  command->add_option("--variables", variables, "Only by these variables, comma-separated; default: each")
      ->allow_extra_args(false);
  smooths.add_to(*command);
  common.add_to(*command);
  return command;
}

int DerivativesCommand::run(mpi::Session& session) const {
  return common.run(session, [&](Job& job, const Model& model) {
    DerivativeOptions options{smooths.options()};
    options.order = order;
    options.variables = labels_in(variables);
    return derivatives(job, model, options);
  });
}

}  // namespace TESSERA_NAMESPACE::gam
