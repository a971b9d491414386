// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/host_limits.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::detail {

/// The memory that a rank needs, and the limits that apply to it, as the rank sees them.
struct MemoryNeed {
  int node = 0;
  std::int64_t bytes = 0;
  std::vector<MemoryLimit> limits;
};

/// A limit that is too small for all ranks under it together.
struct Shortage {
  int rank = 0;           ///< lowest rank under the limit
  std::size_t limit = 0;  ///< index among that rank's limits
  int ranks = 0;
  std::int64_t needed_bytes = 0;
  std::int64_t free_bytes = 0;  ///< memory left under the limit: the largest value that any of its ranks read
};

/// The limit that is exceeded by the most bytes; ties: the limit of the lowest rank. Pure.
[[nodiscard]] std::optional<Shortage> worst_shortage(std::span<const MemoryNeed> ranks);

/// The memory of the rank at this index if the ranks under each limit divide it in proportion to their needs;
/// at most the rank's need. Pure.
[[nodiscard]] std::int64_t share_of(std::span<const MemoryNeed> ranks, std::size_t rank);

}  // namespace TESSERA_NAMESPACE::detail
