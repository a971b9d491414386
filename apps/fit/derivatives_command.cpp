// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"

#include <CLI/CLI.hpp>

namespace TESSERA_NAMESPACE::gam {

CLI::App* DerivativesCommand::add_to(CLI::App& program) {
  CLI::App* command = program.add_subcommand("derivatives", "Derivatives of smooths on a grid, with bands");
  common.options.add_to(*command, OptionSet::derivatives);
  common.add_to(*command);
  return command;
}

int DerivativesCommand::run(mpi::Session& session, StopRequest& stop) const {
  return common.run(session, stop, [&](Job& job, const Model& model) {
    return derivatives(job, model, common.options.read<DerivativeOptions>());
  });
}

}  // namespace TESSERA_NAMESPACE::gam
