// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::detail {

/// Workspace of `apportion_into`: a plan of a million small ranks keeps one instead of allocating a
/// million times.
struct ApportionWorkspace {
  std::vector<std::uint64_t> remainders;
  std::vector<std::size_t> tied;
};

/// The sum of `scores`. Throws `Error(usage)` if it does not fit 64 bits.
[[nodiscard]] std::uint64_t total_score(std::span<const std::uint64_t> scores);

/// `apportion` into `shares`, one for each score.
void apportion_into(std::int64_t units, std::span<const std::uint64_t> scores, std::span<std::int64_t> shares,
                    ApportionWorkspace& workspace);

}  // namespace tessera::detail
