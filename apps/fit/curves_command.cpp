// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "overwrite.hpp"

#include <tessera/gam/curves.hpp>
#include <tessera/job/together.hpp>

#include <CLI/CLI.hpp>
#include <string>

namespace TESSERA_NAMESPACE::gam {

CLI::App* CurvesCommand::add_to(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "curves",
      "Tests of the curves of many models, such as a gene's expression along lineages; or their means");
  command->add_option("FITS", fits, "Fits of tessera-fit many --covariances: fits.h5")->required();
  options.add_to(*command, OptionSet::curves);
  command->add_flag("--values", values, "The means of each response on its curves, in place of tests");
  options.add_to(*command, OptionSet::curve_values, {"scaled", "interval"});
  options.add_to(*command, OptionSet::job, {"threads"});
  collective_timeout.add_to(*command);
  add_out(*command, out);
  return command;
}

int CurvesCommand::run(mpi::Session& session, StopRequest& stop) const {
  session.set_timeout(collective_timeout.value());
  together(session.world(), [&] {
    if (session.is_root()) refuse_to_overwrite({{"--out", out}}, {fits}, {});
  });
  PredictionsFile written(session.world(), out);
  Job job(session.world(), cpu_job_options(options, collective_timeout, stop));
  const Predictions found = values ? curve_values(job, fits, options.read<CurveValueOptions>())
                                   : test_curves(job, fits, options.read<CurveTestOptions>());
  written.add(found);
  return complete(written, session.is_root(), found.remarks);
}

}  // namespace TESSERA_NAMESPACE::gam
