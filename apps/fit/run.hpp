// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/session.hpp>

#include <optional>

namespace TESSERA_NAMESPACE::gam {

/// Does what the command line of tessera-fit says, *collectively*, and returns the exit status. The session
/// is made when it is needed: pages of the manual need none. Throws `Error` for what is refused, on every
/// rank.
[[nodiscard]] int run_program(int argc, char** argv, std::optional<mpi::Session>& session);

}  // namespace TESSERA_NAMESPACE::gam
