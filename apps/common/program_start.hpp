// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/session.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

/// How a program starts: as a rank of MPI, or alone.
namespace tessera::apps {

inline constexpr std::string_view mpi_flag = "--mpi";

inline void add_mpi_flag(CLI::App& app) {
  const std::string description =
      "Start MPI also where no launcher, as mpirun or srun, has started this process";
  app.add_flag(std::string(mpi_flag), description);
}

/// MPI is started before the command line is parsed, as it may take arguments of its own; it costs 0.4 s, and
/// so is left alone where this process is no rank.
inline void start(std::optional<mpi::Session>& session, int& argc, char**& argv) {
  const bool asked = std::any_of(argv + 1, argv + argc, [](const char* text) { return text == mpi_flag; });
  session.emplace(argc, argv, asked ? mpi::Runtime::mpi : mpi::launched_runtime());
}

}  // namespace tessera::apps
