// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/formula.hpp>

#include <fmt/core.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A node of the syntax tree of a formula, by R's grammar.
///
/// `log(e + 1)` is a call "log" with one argument, the binary "+" of a name and a number. Parentheses are
/// kept as groups, because R keeps them in the names of its terms.
struct Syntax {
  enum class Kind { number, name, constant, text, call, group, unary, binary };

  Kind kind = Kind::number;
  std::string text;  ///< a name, a constant such as TRUE, a quoted text, a function, or an operator
  double number = 0;
  std::vector<Syntax> children;             ///< arguments or operands
  std::vector<std::string> argument_names;  ///< names of a call's arguments; "": no name
  std::size_t position = 0;                 ///< of the first character, or of a binary operator
  [[nodiscard]] bool is_name(std::string_view name) const { return kind == Kind::name && text == name; }
  [[nodiscard]] bool is_constant(std::string_view name) const {
    return kind == Kind::constant && text == name;
  }
  [[nodiscard]] bool is_call(std::string_view name) const { return kind == Kind::call && text == name; }
  [[nodiscard]] bool is_binary(std::string_view op) const { return kind == Kind::binary && text == op; }
};

/// Parses one formula or expression. R's operators, weakest first, are: `~`, `|`, `&`, `!`, comparisons,
/// binary `+` and `-`, `*` and `/`, `%% %/% %in%`, `:`, unary `+` and `-`, and the right-associative `^`.
/// Throws `Error(usage)` with the position and what was expected there.
[[nodiscard]] Syntax parse_syntax(std::string_view text);

/// The tree in the form of R's deparse(): "log(e + 1)", "x/2", "1e+05 * x", "`a name`". Parsing the text
/// gives the same tree: numbers have more than R's 15 digits if necessary.
[[nodiscard]] std::string deparse(const Syntax& syntax);

/// A quoted text that parses to `text`.
[[nodiscard]] std::string deparse_text(std::string_view text);

/// Throws `Error(usage)` with the position in the formula and a message made by `fmt::format`.
template <class... Values>
[[noreturn]] void formula_error(std::size_t position, fmt::format_string<Values...> message,
                                Values&&... values) {
  throw FormulaError({{position, fmt::format(message, std::forward<Values>(values)...)}});
}

}  // namespace TESSERA_NAMESPACE::gam
