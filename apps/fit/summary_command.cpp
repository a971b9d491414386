// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "model.hpp"
#include "output.hpp"
#include "summary.hpp"

#include <tessera/job/together.hpp>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "common/standard_output.hpp"

namespace tessera::fit {

CLI::App* SummaryCommand::add_to(CLI::App& program) {
  CLI::App* command = program.add_subcommand("summary", "Print the summary of a model, as R's summary.gam");
  command->add_option("MODEL", model, "model.json of a fit")->required();
  return command;
}

int SummaryCommand::run(const mpi::Session& session) const {
  together(session.world(), [&] {
    if (!session.is_root()) return;
    apps::write_output(summary_text(load_model(model)));
    apps::flush_output();
  });
  return EXIT_SUCCESS;
}

}  // namespace tessera::fit
