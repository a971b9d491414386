// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/formula/compile.hpp"
#include "gam/formula/formula.hpp"
#include "gam/formula/syntax.hpp"

#include <string_view>

namespace TESSERA_NAMESPACE::gam {

/// Whether the function is s, te, ti or t2.
[[nodiscard]] bool is_smooth(std::string_view function);

/// Converts a call of s, te, ti or t2, with mgcv's defaults and its rules for k and m. Throws `Error(usage)`
/// with the position of an argument that is unknown, not supported, or out of range.
[[nodiscard]] SmoothSpec smooth_from(const Syntax& call);

}  // namespace TESSERA_NAMESPACE::gam
