// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/communicator.hpp>
#include <tessera/topology/host_limits.hpp>
#include <tessera/version.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace TESSERA_NAMESPACE {

/// A group of ranks that share a memory limit and together need more than its free bytes.
struct MemoryShortage {
  int rank = 0;  ///< lowest rank of the group
  int ranks = 1;
  std::string hostname;
  std::int64_t needed_bytes = 0;  ///< sum over the ranks
  MemoryLimit limit;
};

/// Checks whether each rank can allocate another `bytes` of host memory; beyond a limit, the kernel's OOM
/// killer may end a rank. For each limit (`HostLimits::memory`), the limit's free bytes are compared with the
/// sum of `bytes` over the ranks that share the limit.
///
///     if (const auto short_of = tessera::find_memory_shortage(comm, rows * bytes_per_row))
///       throw tessera::Error(ErrorCode::input, "the rows " + to_string(*short_of));
///
/// Returns the worst shortage, the same on every rank; empty if no known limit is exceeded. Memory is not
/// reserved. *Collective.* Blocks. Cost: reading the limits, and four small collectives.
[[nodiscard]] TESSERA_EXPORT std::optional<MemoryShortage> find_memory_shortage(const mpi::Communicator& comm,
                                                                                std::int64_t bytes);

/// The part of the requested memory that a rank may take.
struct MemoryShare {
  std::int64_t bytes = 0;
  std::optional<MemoryShortage> shortage{};  ///< why a rank gets less than requested; the same on every rank
};

/// Divides free memory among ranks that request `bytes` each, but can use less. A rank gets its whole
/// request, or its proportional share under the tightest limit that applies to it. A quarter of the free
/// bytes of each of the system's limits is held back for other allocations. `node_bytes` is an additional
/// limit, for all ranks of a node together.
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
