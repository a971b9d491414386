// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/communicator.hpp>
#include <tessera/topology/driver_state.hpp>

#include <string>
#include <vector>

namespace tessera::info {

/// A version of a library or driver, and the ranks that run with it.
struct Software {
  std::string what;
  std::string version;
  std::vector<int> ranks;
};

/// *Collective.* What each rank runs with, the same on every rank; a list of one version for each thing is
/// one job of equal nodes. A rank without a GPU opens no library for it.
[[nodiscard]] std::vector<Software> gather_software(const mpi::Communicator& comm, const DriverState& driver,
                                                    bool has_gpu);

/// "0-3,7".
[[nodiscard]] std::string as_ranges(const std::vector<int>& ranks);

}  // namespace tessera::info
