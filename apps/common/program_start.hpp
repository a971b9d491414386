// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/error.hpp>
#include <tessera/function.hpp>
#include <tessera/mpi/launcher.hpp>
#include <tessera/mpi/session.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "common/same_command_line.hpp"
#include "common/usage_complaint.hpp"

/// How a program starts: as a rank of MPI, or alone.
namespace tessera::apps {

inline constexpr std::string_view mpi_flag = "--mpi";

inline void add_mpi_flag(CLI::App& app) {
  const std::string description =
      "Start MPI also where no launcher, as mpirun or srun, has started this process";
  app.add_flag(std::string(mpi_flag), description);
}

/// Parses the command line and makes the session. MPI, whose start costs 0.4 s, is left alone where this
/// process is no rank, for help and version, and where `needs_one_rank` says so of the parsed command line:
/// then the first rank answers alone. False if nothing is left to do for this one. Throws `Error(usage)` on
/// all ranks for a command line that is wrong, or that is not that of all ranks.
inline bool start(CLI::App& app, std::optional<mpi::Session>& session, int argc, char** argv,
                  FunctionRef<bool()> needs_one_rank) {
  const bool asked = std::any_of(argv + 1, argv + argc, [](const char* text) { return text == mpi_flag; });
  bool is_alone = false;
  if (!asked) {
    const bool is_first = mpi::launched_rank() <= 0;
    try {
      if (!parse(app, argc, argv, is_first)) return false;
      is_alone = needs_one_rank();
      if (is_alone && !is_first) return false;
    } catch (const Error&) {
      // MPI may take arguments of its own. If it does not, the ranks complain together below: a launcher
      // would end the first one before it has, if another one ended earlier.
    }
  }
  const mpi::Runtime launched = is_alone ? mpi::Runtime::serial : mpi::launched_runtime();
  session.emplace(argc, argv, asked ? mpi::Runtime::mpi : launched);
  require_same_command_line(session->world(), app.get_name(), argc, argv);
  return parse(app, argc, argv, session->is_root());
}

}  // namespace tessera::apps
