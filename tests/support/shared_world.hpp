// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/communicator.hpp>

namespace TESSERA_NAMESPACE::gam::testing {

/// The world communicator of all tests of a program.
[[nodiscard]] inline const mpi::Communicator& shared_world() {
  // Never destroyed: MPI is finalised before static objects are destroyed.
  static const auto* const comm = new mpi::Communicator(mpi::Communicator::duplicate_of(MPI_COMM_WORLD));
  return *comm;
}

/// Calls `compute(communicator, threads)` on the first 1, 3 and 8 ranks, with one or two threads, to check
/// that results do not depend on ranks or threads.
template <class Compute>
void for_each_division(const Compute& compute) {
  struct Division {
    int ranks;
    int threads;
  };
  for (const auto& [ranks, threads] : {Division{1, 1}, Division{1, 2}, Division{3, 2}, Division{8, 1}}) {
    if (ranks > shared_world().size()) continue;
    const bool is_in = shared_world().rank() < ranks;
    const mpi::Communicator some = shared_world().split(is_in ? 0 : 1);
    if (is_in) compute(some, threads);
    shared_world().barrier();
  }
}

}  // namespace TESSERA_NAMESPACE::gam::testing
