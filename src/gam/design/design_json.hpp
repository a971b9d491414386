// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"

#include <nlohmann/json_fwd.hpp>

#include "files/json_file.hpp"

namespace TESSERA_NAMESPACE::gam {

/// A design as part of a model file. Components refer to variables by name, and only variables that a
/// component uses are written. All numbers read back to the same bits.
[[nodiscard]] nlohmann::json to_json(const Design& design);

/// Reads the design that `to_json` wrote, for a model with this many coefficients and a full covariance;
/// apply it to a table with `reindexed`. Throws `Error(input)`, naming the field, if the value is not such a
/// design. Indices and sizes of any input are checked, and memory is allocated only for numbers in the file.
[[nodiscard]] Design design_from_json(const files::JsonField& field, int coefficients);

}  // namespace TESSERA_NAMESPACE::gam
