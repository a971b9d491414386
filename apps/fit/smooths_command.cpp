// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"

#include <CLI/CLI.hpp>

namespace TESSERA_NAMESPACE::gam {

CLI::App* SmoothsCommand::add_to(CLI::App& program) {
  CLI::App* command =
      program.add_subcommand("smooths", "Each smooth on a grid, with pointwise and simultaneous bands");
  smooths.add_to(*command);
  common.add_to(*command);
  return command;
}

int SmoothsCommand::run(mpi::Session& session) const {
  return common.run(
      session, [&](Job& job, const Model& model) { return smooth_estimates(job, model, smooths.options()); });
}

}  // namespace TESSERA_NAMESPACE::gam
