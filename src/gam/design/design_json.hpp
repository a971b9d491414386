// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"

#include <nlohmann/json_fwd.hpp>

#include "files/json_file.hpp"

namespace TESSERA_NAMESPACE::gam {

/// A design as part of a model file. Components name their variable, and only the variables that some
/// component reads are kept. Every number survives the round trip to the bit.
[[nodiscard]] nlohmann::json to_json(const Design& design);

/// The design that `to_json` wrote, of a model that has so many coefficients, and their covariance in full;
/// apply it to a table with `reindexed`. Throws `Error(input)`, naming the field, if the value is not such a
/// design: whatever it says, its places and sizes are right, and memory is taken for what is there.
[[nodiscard]] Design design_from_json(const files::JsonField& field, int coefficients);

}  // namespace TESSERA_NAMESPACE::gam
