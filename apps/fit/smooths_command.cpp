// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"

#include <CLI/CLI.hpp>

namespace TESSERA_NAMESPACE::gam {

CLI::App* SmoothsCommand::add_to(CLI::App& program) {
  CLI::App* command =
      program.add_subcommand("smooths", "Each smooth on a grid, with pointwise and simultaneous bands");
  common.options.add_to(*command, OptionSet::smooths);
  common.add_to(*command);
  return command;
}

int SmoothsCommand::run(mpi::Session& session, StopRequest& stop) const {
  return common.run(session, stop, [&](Job& job, const Model& model) {
    return smooth_estimates(job, model, common.options.read<SmoothOptions>());
  });
}

}  // namespace TESSERA_NAMESPACE::gam
