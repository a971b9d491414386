// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/host_limits.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::detail {

struct MemoryNeed {
  int node = 0;
  std::int64_t bytes = 0;
  std::vector<MemoryLimit> limits;
};

/// A limit that is less than the total need of the ranks under it.
struct Shortage {
  int rank = 0;           ///< lowest rank under the limit
  std::size_t limit = 0;  ///< index among the limits of `rank`
  int ranks = 0;
  std::int64_t needed_bytes = 0;
  std::int64_t free_bytes = 0;  ///< maximum over the ranks under the limit
};

/// The limit that is exceeded by the most bytes; ties: the limit of the lowest rank. Pure function.
[[nodiscard]] std::optional<Shortage> worst_shortage(std::span<const MemoryNeed> ranks);

/// The bytes that `rank` may use, at most its need: the ranks under a limit divide the limit's free bytes in
/// proportion to their needs. Pure function.
[[nodiscard]] std::int64_t share_of(std::span<const MemoryNeed> ranks, std::size_t rank);

}  // namespace TESSERA_NAMESPACE::detail
