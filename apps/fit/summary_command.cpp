// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"

#include <tessera/gam/model.hpp>
#include <tessera/gam/report.hpp>
#include <tessera/job/together.hpp>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "common/streams.hpp"

namespace TESSERA_NAMESPACE::gam {

CLI::App* SummaryCommand::add_to(CLI::App& program) {
  CLI::App* command = program.add_subcommand("summary", "Print the summary of a model, as R's summary.gam");
  command->add_option("MODEL", model, "model.json of a fit, or a response of many models: fits.h5:NAME")
      ->required();
  command->add_flag("--json", json, "Print JSON");
  return command;
}

int SummaryCommand::run(const mpi::Session& session) const {
  together(session.world(), [&] {
    if (!session.is_root()) return;
    const Model loaded = load_model(model);
    apps::write_output(json ? summary_json(loaded) : gam::summary(loaded));
    apps::flush_output();
  });
  return EXIT_SUCCESS;
}

}  // namespace TESSERA_NAMESPACE::gam
