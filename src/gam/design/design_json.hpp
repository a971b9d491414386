// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"

#include <nlohmann/json_fwd.hpp>

#include "files/json_file.hpp"

namespace TESSERA_NAMESPACE::gam {

/// A design as part of a model file. Components name their variables, and only variables used by a component
/// are written. Every number survives the round trip to the bit.
[[nodiscard]] nlohmann::json to_json(const Design& design);

/// Reads the design that `to_json` wrote, for a model with this many coefficients and a full covariance;
/// apply it to a table with `reindexed`. Throws `Error(input)`, naming the field, if the value is not such a
/// design: for any input, indices and sizes are checked, and memory is allocated only for numbers in the
/// file.
[[nodiscard]] Design design_from_json(const files::JsonField& field, int coefficients);

}  // namespace TESSERA_NAMESPACE::gam
