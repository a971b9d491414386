// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/score.hpp>

namespace TESSERA_NAMESPACE::detail {

/// `measured_score_of_fastest * fastest_seconds_per_unit / seconds_per_unit`, rounded, and at least 1.
/// `fastest_seconds_per_unit` is the time of the job's fastest device. Throws `Error(usage)` if a time is not
/// positive and finite.
[[nodiscard]] std::uint64_t measured_score(double seconds_per_unit, double fastest_seconds_per_unit);

}  // namespace TESSERA_NAMESPACE::detail
