// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/tile.hpp>
#include <tessera/job/verdict.hpp>
#include <tessera/topology/claim.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace tessera {

/// Scores claimed devices by a timed run of the caller's own work, all at once, as they will work later;
/// simulated ones by `throughput`. `failure` receives the first device that could not do it.
[[nodiscard]] std::vector<std::uint64_t> measure(const std::vector<ClaimedDevice>& devices,
                                                 const std::function<std::int64_t(Tile&)>& work,
                                                 std::optional<Verdict::Failure>& failure);

}  // namespace tessera
