// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/communicator.hpp>

#include <string_view>

namespace TESSERA_NAMESPACE::gam {

/// *Collective.* Throws the same `Error(input)` on every rank if this many numbers of a result, over all
/// ranks, exceed the free memory of a node. `what` is the result, "9 draws of 4 coefficients". Cost: none for
/// some megabytes, else the cost of `find_memory_shortage`.
void require_memory(const mpi::Communicator& comm, double numbers, std::string_view what);

}  // namespace TESSERA_NAMESPACE::gam
