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
  std::int64_t cost = 0;
};

/// The column of each row in the best matching of a bipartite graph; empty for an unmatched row. Costs must
/// not be negative.
///
/// The best matching has the most matched rows, then the least total cost, then the lexicographically lowest
/// columns, where "no column" is the highest. It is unique, whatever the order of `edges`.
///
///     best_matching(2, 2, {{0, 0, 2}, {0, 1, 0}, {1, 0, 0}, {1, 1, 2}})  ->  {1, 0}
///
/// Source: the Hungarian method with potentials by shortest augmenting paths (Kuhn 1955; Jonker and Volgenant
/// 1987); ties are broken by alternating paths in the equality subgraph, which contains every optimal
/// matching (complementary slackness). Cost: O(rows^2 (rows + columns)).
[[nodiscard]] std::vector<std::optional<std::size_t>> best_matching(std::size_t rows, std::size_t columns,
                                                                    std::span<const Edge> edges);

}  // namespace TESSERA_NAMESPACE::detail
