// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::detail {

struct Edge {
  std::size_t row = 0;
  std::size_t column = 0;
  std::int64_t cost = 0;  ///< the cost, not negative
};

/// The column of each row in the best matching of a bipartite graph; empty for a row without one.
///
/// The best matching has the most rows matched; then the least total cost; then the lowest column for row 0
/// ("no column" is the highest), then for row 1, and so on: it is unique, whatever the order of `edges`.
///
///     best_matching(2, 2, {{0, 0, 2}, {0, 1, 0}, {1, 0, 0}, {1, 1, 2}})  ->  {1, 0}
///
/// Source: the Hungarian method with potentials by shortest augmenting paths (Kuhn 1955; Jonker and Volgenant
/// 1987); ties are settled by alternating paths in the equality subgraph, which holds every optimal matching
/// (complementary slackness). Cost: O(rows^2 (rows + columns)).
[[nodiscard]] std::vector<std::optional<std::size_t>> best_matching(std::size_t rows, std::size_t columns,
                                                                    std::span<const Edge> edges);

}  // namespace TESSERA_NAMESPACE::detail
