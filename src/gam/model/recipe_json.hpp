// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"

#include <nlohmann/json_fwd.hpp>

#include "files/json_file.hpp"

namespace TESSERA_NAMESPACE::gam {

[[nodiscard]] nlohmann::ordered_json to_json(const Recipe& recipe);
/// Throws an `Error(input)` that names the field if no fit could have written it. The entries of the
/// formula's expressions are checked later, when they are compiled.
[[nodiscard]] Recipe recipe_from_json(const files::JsonField& field);

}  // namespace TESSERA_NAMESPACE::gam
