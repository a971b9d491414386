// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"

#include <nlohmann/json_fwd.hpp>

#include "files/json_file.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Writes a design for a model file. Components refer to variables by name, and unused variables are omitted.
/// All numbers read back to the same bits.
[[nodiscard]] nlohmann::json to_json(const Design& design);

/// Reads a design of `to_json`, for a model with this many coefficients and a full covariance. Call
/// `reindexed` before applying it to a table. Throws `Error(input)`, naming the field, for any other input:
/// indices and sizes are checked, and the number of coefficients limits the memory for matrices.
[[nodiscard]] Design design_from_json(const files::JsonField& field, int coefficients);

}  // namespace TESSERA_NAMESPACE::gam
