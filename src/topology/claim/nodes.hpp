// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/communicator.hpp>

#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::detail {

/// The node of every rank, numbered from 0 by the lowest rank on it. *Collective.*
///
/// MPI_Comm_split_type(MPI_COMM_TYPE_SHARED) would separate ranks in different containers of a node, which
/// would then claim the same GPU. Boot id and host name together identify the machine: copies of a suspended
/// virtual machine share the boot id, and all hosts may be called "localhost".
[[nodiscard]] std::vector<int> nodes_of_ranks(const mpi::Communicator& comm, const std::string& boot_id,
                                              const std::string& hostname);

}  // namespace TESSERA_NAMESPACE::detail
