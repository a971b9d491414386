// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <tessera/mpi/communicator.hpp>

namespace tessera::apps {

/// *Collective.* Throws `Error(usage)` on all ranks, quoting two different lines, unless all ranks have the
/// same command line. Cost: an allreduce of 16 bytes.
void require_same_command_line(const mpi::Communicator& comm, const std::string& program, int argc,
                               char** argv);

}  // namespace tessera::apps
