// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/formula/syntax.hpp"

#include <optional>
#include <string>
#include <vector>

/// Arguments that R evaluates before a call: 7*4, c(rep(5, 2), 10), rep("cr", 2).
namespace TESSERA_NAMESPACE::gam {

/// The values of a constant expression; empty for any other expression. TRUE and T are 1, NA is NaN.
[[nodiscard]] std::optional<std::vector<double>> constant_numbers(const Syntax& syntax);
/// A text, or several texts combined by c() and rep().
[[nodiscard]] std::optional<std::vector<std::string>> constant_texts(const Syntax& syntax);
[[nodiscard]] std::optional<bool> constant_truth(const Syntax& syntax);

/// Evaluates the constant named arguments of a call, except `by`. Each becomes a value, or a call of c().
[[nodiscard]] Syntax with_constants(Syntax call);

}  // namespace TESSERA_NAMESPACE::gam
