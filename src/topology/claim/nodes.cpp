// SPDX-License-Identifier: Apache-2.0
#include "topology/claim/nodes.hpp"

#include <map>

namespace TESSERA_NAMESPACE::detail {

std::vector<int> nodes_of_ranks(const mpi::Communicator& comm, const std::string& boot_id,
                                const std::string& hostname) {
  const auto identities = comm.allgather_text(boot_id + '\n' + hostname);
  std::map<std::string, int> numbers;
  std::vector<int> nodes;
  nodes.reserve(identities.size());
  for (const auto& identity : identities)
    nodes.push_back(numbers.try_emplace(identity, static_cast<int>(numbers.size())).first->second);
  return nodes;
}

}  // namespace TESSERA_NAMESPACE::detail
