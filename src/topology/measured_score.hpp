// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/score.hpp>

namespace TESSERA_NAMESPACE::detail {

/// The score of a device that takes `seconds_per_unit` if the job's fastest device takes
/// `fastest_seconds_per_unit`: `measured_score_of_fastest` divided by their ratio, rounded, and at least 1.
/// Throws `Error(usage)` if a time is not above 0, or not finite.
[[nodiscard]] std::uint64_t measured_score(double seconds_per_unit, double fastest_seconds_per_unit);

}  // namespace TESSERA_NAMESPACE::detail
