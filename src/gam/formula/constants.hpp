// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/formula/syntax.hpp"

#include <optional>
#include <string>
#include <vector>

/// Arguments that R evaluates before a call: 7*4, c(rep(5, 2), 10), rep("cr", 2).
namespace TESSERA_NAMESPACE::gam {

/// The numbers of a variable-free expression; nothing for any other. TRUE and T are 1, NA is NaN.
[[nodiscard]] std::optional<std::vector<double>> constant_numbers(const Syntax& syntax);
/// The texts of a single text, or of several combined by c() and rep().
[[nodiscard]] std::optional<std::vector<std::string>> constant_texts(const Syntax& syntax);
/// TRUE, FALSE, T or F.
[[nodiscard]] std::optional<bool> constant_truth(const Syntax& syntax);

/// A call with its constant named arguments evaluated, except `by`: to a value, or c() of values.
[[nodiscard]] Syntax with_constants(Syntax call);

}  // namespace TESSERA_NAMESPACE::gam
