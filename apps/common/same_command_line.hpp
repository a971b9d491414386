// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <tessera/mpi/communicator.hpp>

namespace tessera::apps {

/// *Collective.* Unless all ranks have the same command line of `program`, throws `Error(usage)` on all ranks
/// with two of the different lines, which would lead to different collective calls or models. Cost: an
/// allreduce of 16 bytes.
void require_same_command_line(const mpi::Communicator& comm, const std::string& program, int argc,
                               char** argv);

}  // namespace tessera::apps
