// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/communicator.hpp>

#include <string_view>

namespace TESSERA_NAMESPACE::gam {

/// *Collective.* Throws the same `Error(input)` on every rank if a result of `numbers` doubles, divided
/// equally among the ranks, exceeds the free memory of a node. `what`: the result, e.g. "9 draws of 4
/// coefficients". Cost: none for some megabytes, otherwise one call of `find_memory_shortage`.
void require_memory(const mpi::Communicator& comm, double numbers, std::string_view what);

}  // namespace TESSERA_NAMESPACE::gam
