// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/communicator.hpp>
#include <tessera/topology/driver_state.hpp>

#include <string>
#include <vector>

namespace tessera::info {

struct Software {
  std::string what;
  std::string version;
  std::vector<int> ranks;
};

/// *Collective.* The versions of libraries and drivers on all ranks, the same list on every rank, with an
/// entry for each version of a component. A rank without a GPU opens no CUDA library.
[[nodiscard]] std::vector<Software> gather_software(const mpi::Communicator& comm, const DriverState& driver,
                                                    bool has_gpu);

/// Ranks as ranges, e.g. "0-3,7".
[[nodiscard]] std::string as_ranges(const std::vector<int>& ranks);

}  // namespace tessera::info
