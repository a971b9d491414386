// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/communicator.hpp>
#include <tessera/topology/host_limits.hpp>
#include <tessera/version.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace tessera::inline TESSERA_ABI {

/// More memory than some ranks, which share a limit, can have.
struct MemoryShortage {
  int rank = 0;  ///< the lowest of them
  int ranks = 1;
  std::string hostname;
  std::int64_t needed_bytes = 0;  ///< by all of them
  MemoryLimit limit;
};

/// Looks whether every rank can have `bytes` more of host memory: before the kernel finds that it cannot, and
/// kills one. What ranks of a node need is added up where they share a limit (`HostLimits::memory`), and
/// compared with what is left of it.
///
///     if (const auto short_of = tessera::find_memory_shortage(comm, rows * bytes_per_row))
///       throw tessera::Error(ErrorCode::input, "the rows " + to_string(*short_of));
///
/// Returns the worst shortage, the same on every rank. Nothing means no more than that no limit is known to
/// be too small now: memory is not set aside. *Collective.* Blocks. Cost: reading the limits, and four small
/// collectives.
[[nodiscard]] TESSERA_EXPORT std::optional<MemoryShortage> find_memory_shortage(const mpi::Communicator& comm,
                                                                                std::int64_t bytes);

/// "need 12.0 GiB on node01 (4 ranks), where 7.5 of 10.0 GiB are left by /sys/fs/…/memory.max: use more
/// nodes, or ask for more memory (Slurm: --mem)".
[[nodiscard]] TESSERA_EXPORT std::string to_string(const MemoryShortage& shortage);

}  // namespace tessera::inline TESSERA_ABI
