// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/communicator.hpp>

#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::detail {

/// The node of every rank, numbered from 0 by the lowest rank on it. *Collective.*
///
/// MPI_Comm_split_type(MPI_COMM_TYPE_SHARED) is not used: if each rank runs in a container of its own, it
/// splits a node into singletons, which would all take the same GPU. Boot id and host name identify the
/// machine. The boot id alone is not enough, since copies of one suspended virtual machine share it; nor is
/// the name, which may be "localhost" everywhere.
[[nodiscard]] std::vector<int> nodes_of_ranks(const mpi::Communicator& comm, const std::string& boot_id,
                                              const std::string& hostname);

}  // namespace TESSERA_NAMESPACE::detail
