// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/formula/syntax.hpp"

#include <optional>
#include <string>
#include <vector>

/// Arguments that R evaluates before a call: 7*4, c(rep(5, 2), 10), rep("cr", 2).
namespace TESSERA_NAMESPACE::gam {

/// The numbers of an expression without variables; empty for any other. TRUE and T are 1, NA is NaN.
[[nodiscard]] std::optional<std::vector<double>> constant_numbers(const Syntax& syntax);
/// A text, or several texts combined by c() and rep().
[[nodiscard]] std::optional<std::vector<std::string>> constant_texts(const Syntax& syntax);
/// The value of TRUE, FALSE, T or F.
[[nodiscard]] std::optional<bool> constant_truth(const Syntax& syntax);

/// The call with its constant named arguments evaluated, except `by`: each becomes a value, or a call of c()
/// of values.
[[nodiscard]] Syntax with_constants(Syntax call);

}  // namespace TESSERA_NAMESPACE::gam
