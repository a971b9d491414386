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

}  // namespace TESSERA_NAMESPACE::gam::testing
