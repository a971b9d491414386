// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tessera {

/// Cuts `units` into whole shares in proportion to `scores` by the method of largest remainders
/// (Hamilton 1792; Balinski and Young, *Fair Representation*, 1982, ch. 3).
///
///     const std::vector<std::uint64_t> scores{100, 50, 75};
///     apportion(10, scores);                           // {5, 2, 3}: quotas 4.44, 2.22, 3.33
///
/// Floors of the quotas `units * score / total` come first; what is left goes one each to the
/// largest remainders, ties to the higher score and then the lower index. If every score is zero
/// the split is even, what is left going to the lowest indices. No scores: an empty result.
///
/// Integer arithmetic throughout (128-bit products): exact for `units` up to 2^63 - 1 and any scores
/// whose total fits 64 bits. Throws `Error(usage)` if `units` is negative or the total does not fit.
/// Thread-safe, no communication. Cost: O(number of scores).
[[nodiscard]] std::vector<std::int64_t> apportion(std::int64_t units, std::span<const std::uint64_t> scores);

}  // namespace tessera
