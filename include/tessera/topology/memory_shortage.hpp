// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/communicator.hpp>
#include <tessera/topology/host_limits.hpp>
#include <tessera/version.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace TESSERA_NAMESPACE {

/// Ranks that share a memory limit and together need more than is left of it.
struct MemoryShortage {
  int rank = 0;  ///< the lowest of these ranks
  int ranks = 1;
  std::string hostname;
  std::int64_t needed_bytes = 0;  ///< sum over these ranks
  MemoryLimit limit;
};

/// Checks whether each rank can allocate `bytes` more of host memory, before the kernel's OOM killer ends
/// one. The needs of ranks that share a limit (`HostLimits::memory`) are summed, and compared with what is
/// left of it.
///
///     if (const auto short_of = tessera::find_memory_shortage(comm, rows * bytes_per_row))
///       throw tessera::Error(ErrorCode::input, "the rows " + to_string(*short_of));
///
/// Returns the worst shortage, the same on every rank; empty if no known limit is exceeded now. Memory is not
/// reserved. *Collective.* Blocks. Cost: reading the limits, and four small collectives.
[[nodiscard]] TESSERA_EXPORT std::optional<MemoryShortage> find_memory_shortage(const mpi::Communicator& comm,
                                                                                std::int64_t bytes);

/// The part of the memory that it wants which a rank may take.
struct MemoryShare {
  std::int64_t bytes = 0;
  std::optional<MemoryShortage> shortage{};  ///< why that is less on some rank, the same on every rank
};

/// Divides the memory that is left among ranks that want `bytes` each, and can do with less: a rank gets all
/// of it, or its proportionate share of the tightest limit that it is under. Of each limit that the system
/// sets a quarter of what is left is not given away, for what a rank takes beside. `node_bytes` is one more
/// limit, on what the ranks of a node are given together.
///
///     const auto share = tessera::share_memory(comm, rows * bytes_per_row);
///     const std::int64_t rows_in_memory = share.bytes / bytes_per_row;
///
/// Memory is not reserved. *Collective.* Blocks. Cost: as `find_memory_shortage`.
[[nodiscard]] TESSERA_EXPORT MemoryShare share_memory(const mpi::Communicator& comm, std::int64_t bytes,
                                                      std::optional<std::int64_t> node_bytes = {});

/// "need 12.0 GiB on node01 (4 ranks), where 7.5 of 10.0 GiB are left by /sys/fs/…/memory.max: use more
/// nodes, or ask for more memory (Slurm: --mem)".
[[nodiscard]] TESSERA_EXPORT std::string to_string(const MemoryShortage& shortage);

}  // namespace TESSERA_NAMESPACE
