// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"

#include "commands.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <tessera/error.hpp>
#include <tessera/mpi/communicator.hpp>
#include <tessera/version.hpp>
#include <tuple>
#include <vector>

#include "common/pages.hpp"
#include "common/program_start.hpp"
#include "common/standard_input.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

/// The path that may be `-`. In a list: its element `-`, or `none` if there is no such element.
std::string& piped(std::string& path, std::string& /*none*/) {
  return path;
}
std::string& piped(std::vector<std::string>& paths, std::string& none) {
  const auto found = std::ranges::find(paths, "-");
  return found == paths.end() ? none : *found;
}

/// Runs a command that reads the table `input` and stops at signals. Error messages name the stored file
/// "standard input".
int status_of(const auto& command, mpi::Session& session, std::string& input, const std::string& scratch) {
  apps::TimeLimit time_limit;
  if constexpr (requires { command.time_limit; }) time_limit = command.time_limit;
  StopRequest stop(session.world(), time_limit.stop_options());
  const apps::StandardInput stored(session.world(), input, scratch, stop);
  try {
    return command.run(session, stop);
  } catch (const mpi::Failure&) {
    throw;
  } catch (const Error& fault) {
    throw Error(fault.code(), apps::with_input_named(fault.what()));
  }
}

}  // namespace

int run_program(int argc, char** argv, std::optional<mpi::Session>& session) {
  CLI::App app{"Fits generalized additive models to large tables over every rank and GPU of an MPI job.",
               "tessera-fit"};
  app.formatter(apps::help_layout());
  app.footer(
      apps::footer("0 answer; 2 usage; 3 input; 4 not converged, or no finite estimate; 5 device required "
                   "but absent; 6 job fault; "
                   "75 interrupted, the same command resumes or starts over"));
  app.set_version_flag("--version", std::string("tessera-fit ") + tessera::version());
  apps::add_mpi_flag(app);
  app.require_subcommand(1);

  std::tuple<FitCommand, ManyCommand, CurvesCommand, PredictCommand, SliceCommand, SmoothsCommand,
             DerivativesCommand, ContrastsCommand, SimulateCommand, ConvertCommand, ColumnsCommand,
             SummaryCommand, AnovaCommand, CheckCommand, ReportCommand>
      commands;
  const std::array added =
      std::apply([&](auto&... each) { return std::array{each.add_to(app)...}; }, commands);

  if (apps::prints_page(app, argc, argv)) return EXIT_SUCCESS;

  const auto needs_one_rank = [&] {
    return app.got_subcommand("summary") ||
           (app.got_subcommand("report") && std::get<ReportCommand>(commands).data.empty());
  };
  if (!apps::start(app, session, argc, argv, needs_one_rank)) return EXIT_SUCCESS;
  int status = EXIT_SUCCESS;
  auto run = [&, next = added.begin()](auto& command) mutable {
    if (!(*next++)->parsed()) return;
    if constexpr (requires { command.data; }) {
      std::string none;
      status = status_of(command, *session, piped(command.data, none), command.options.value_of("scratch"));
    } else if constexpr (requires { command.common; }) {
      status = status_of(command, *session, command.common.table, "");
    } else if constexpr (requires { command.fits; }) {
      std::string none;
      status = status_of(command, *session, none, "");
    } else {
      status = command.run(*session);
    }
  };
  std::apply([&](auto&... each) { (run(each), ...); }, commands);
  return status;
}

}  // namespace TESSERA_NAMESPACE::gam
