// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/session.hpp>

#include <optional>

namespace TESSERA_NAMESPACE::gam {

/// *Collective.* Runs the command line of tessera-fit and returns the exit status. Makes the session, except
/// for manual pages. Throws the same `Error` on every rank.
[[nodiscard]] int run_program(int argc, char** argv, std::optional<mpi::Session>& session);

}  // namespace TESSERA_NAMESPACE::gam
