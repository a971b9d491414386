// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/curves.hpp>

#include <map>
#include <string>

namespace TESSERA_NAMESPACE::gam {

/// Contrasts by test name, parsed from JSON or from a JSON file:
///
///     {"late": [{"s(t):a.5": 1, "s(t):b.5": -1}]}
///
/// Throws `Error(usage)`, or `Error(input)` for a file; the message names the invalid field.
[[nodiscard]] std::map<std::string, NamedContrasts> named_contrasts(const std::string& text_or_file);

}  // namespace TESSERA_NAMESPACE::gam
