// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/formula/formula.hpp"
#include "gam/formula/syntax.hpp"

#include <string_view>

/// The parts of a formula: what its trees mean.
namespace tessera::gam {

/// True for log, pmax, I and the other functions of an expression.
[[nodiscard]] bool is_function(std::string_view name);

/// Arithmetic on columns, or factor(x). Throws `Error(usage)` at whatever is something else.
[[nodiscard]] Expression expression_from(const Syntax& syntax);

/// s(…) or te(…), with mgcv's defaults and its rules for k and m. Throws `Error(usage)` at an argument
/// that is unknown, not supported, or out of range.
[[nodiscard]] SmoothSpec smooth_from(const Syntax& call);

}  // namespace tessera::gam
