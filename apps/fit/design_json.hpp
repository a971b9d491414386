// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "design.hpp"

#include <nlohmann/json_fwd.hpp>

namespace tessera::fit {

/// A design as part of a model file. Components name their variable, and only the variables that some
/// component reads are kept. Every number survives the round trip to the bit.
[[nodiscard]] nlohmann::json to_json(const Design& design);

/// The design that `to_json` wrote; apply it to a table with `reindexed`. Throws `Error(input)` if the value
/// is not such a design.
[[nodiscard]] Design design_from_json(const nlohmann::json& json);

}  // namespace tessera::fit
