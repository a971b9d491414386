// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// The text of a formula as a tree, by the grammar of R's language: what is said, before what it means.
namespace TESSERA_NAMESPACE::gam {

/// A node of the tree.
///
/// `log(e + 1)` is a call "log" with one argument, the binary "+" of a name and a number. Parentheses
/// are kept as groups, since R keeps them in the names of its terms.
struct Syntax {
  enum class Kind { number, name, constant, text, call, group, unary, binary };

  Kind kind = Kind::number;
  std::string text;  ///< a name, TRUE or another constant, a quoted text, a function, or an operator
  double number = 0;
  std::vector<Syntax> children;             ///< arguments or operands
  std::vector<std::string> argument_names;  ///< of a call: "" for an argument without a name
  std::size_t position = 0;                 ///< of its first character (of a binary: its operator)
  [[nodiscard]] bool is_name(std::string_view name) const { return kind == Kind::name && text == name; }
  [[nodiscard]] bool is_constant(std::string_view name) const {
    return kind == Kind::constant && text == name;
  }
  [[nodiscard]] bool is_call(std::string_view name) const { return kind == Kind::call && text == name; }
  [[nodiscard]] bool is_binary(std::string_view op) const { return kind == Kind::binary && text == op; }
};

/// Parses one formula or expression with R's operators, weakest first: `~`, `|`, `&`, `!`, comparisons, `+
/// -`,
/// `* /`, `%% %/% %in%`, `:`, unary `+ -`, `^` (from the right). Throws `Error(usage)` with the position and
/// what was expected there.
[[nodiscard]] Syntax parse_syntax(std::string_view text);

/// The tree as R's deparse() spells it: "log(e + 1)", "x/2", "1e+05 * x", "`a name`". Read again it is the
/// same tree: a number that 15 digits do not tell, at which R stops, has those that do.
[[nodiscard]] std::string deparse(const Syntax& syntax);

/// A text in quotes, that reads as that text.
[[nodiscard]] std::string deparse_text(std::string_view text);

/// Throws `Error(usage)`: the message, and the place in the formula that it is about.
[[noreturn]] void formula_error(std::size_t position, const std::string& message);

}  // namespace TESSERA_NAMESPACE::gam
