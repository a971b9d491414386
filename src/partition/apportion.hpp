// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::detail {

/// Reusable buffers of `apportion`, which avoid allocations for each rank.
struct ApportionWorkspace {
  std::vector<std::uint64_t> remainders;
  std::vector<std::size_t> order;
};

/// The sum of the scores. Throws `Error(usage)` if it does not fit 64 bits.
[[nodiscard]] std::uint64_t total_score(std::span<const std::uint64_t> scores);

/// Cuts `units` into whole shares, one for each score and in proportion to it, by the method of largest
/// remainders (Hamilton 1792; Balinski and Young, *Fair Representation*, 1982, ch. 3).
///
///     10 units by the scores 100, 50 and 75  ->  5, 2 and 3: the quotas are 4.44, 2.22 and 3.33
///
/// Each share gets the floor of its quota `units * score / total`; the remaining units go one each to the
/// largest remainders, ties to the higher score and then the lower index. If every score is zero, the split
/// is even, and remaining units go to the lowest indices.
///
/// Integer arithmetic throughout (128-bit products): exact for `units` up to 2^63 - 1 and any scores
/// whose total fits 64 bits. Throws `Error(usage)` if `units` is negative or the total does not fit.
/// Thread-safe, no communication. Cost: O(number of scores).
void apportion(std::int64_t units, std::span<const std::uint64_t> scores, std::span<std::int64_t> shares,
               ApportionWorkspace& workspace);

}  // namespace TESSERA_NAMESPACE::detail
