// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/frame/frame.hpp"

#include <nlohmann/json_fwd.hpp>

#include "files/json_file.hpp"

namespace TESSERA_NAMESPACE::gam {

[[nodiscard]] nlohmann::ordered_json to_json(const Recipe& recipe);
/// Throws `Error(input)` with the field for what no fit has written. What it says of an expression that the
/// formula has is checked where that is compiled.
[[nodiscard]] Recipe recipe_from_json(const files::JsonField& field);

}  // namespace TESSERA_NAMESPACE::gam
