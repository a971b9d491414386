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

namespace tessera::apps {

inline constexpr std::string_view mpi_flag = "--mpi";

inline void add_mpi_flag(CLI::App& app) {
  const std::string description =
      "Start MPI also if no launcher, such as mpirun or srun, has started this process";
  app.add_flag(std::string(mpi_flag), description);
}

/// Parses the command line and makes the session. Returns false if this process has nothing to do. MPI, whose
/// start takes 0.4 s, is not started without a launcher, for help and version, or if `needs_one_rank` returns
/// true after parsing; in the last case only the first rank works. Throws `Error(usage)` on all ranks if the
/// command line is invalid or differs between ranks.
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
      // The line is parsed again below, after MPI has removed its own arguments. All ranks then report an
      // error together: if one rank ended here, a launcher might kill rank 0 before it prints.
    }
  }
  const mpi::Runtime launched = is_alone ? mpi::Runtime::serial : mpi::launched_runtime();
  session.emplace(argc, argv, asked ? mpi::Runtime::mpi : launched);
  require_same_command_line(session->world(), app.get_name(), argc, argv);
  return parse(app, argc, argv, session->is_root());
}

}  // namespace tessera::apps
