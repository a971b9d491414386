// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/curves.hpp>

#include <map>
#include <string>

namespace TESSERA_NAMESPACE::gam {

/// Contrasts by the name of their test, from JSON or the name of a file of it:
///
///     {"late": [{"s(t):a.5": 1, "s(t):b.5": -1}]}
///
/// Throws `Error(usage)`, or `Error(input)` for a file, with the place in it.
[[nodiscard]] std::map<std::string, NamedContrasts> named_contrasts(const std::string& text_or_file);

}  // namespace TESSERA_NAMESPACE::gam
