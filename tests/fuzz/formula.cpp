// SPDX-License-Identifier: Apache-2.0
// Formulas of the command line and of models: a formula that was read, written and read again is the same.
#include "gam/formula/formula.hpp"
#include "fuzz_target.hpp"
#include "gam/formula/compile.hpp"
#include "gam/formula/syntax.hpp"

#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using fuzz::refusal;
using fuzz::require;

bool same(const Syntax& a, const Syntax& b) {
  // A number keeps its value, but may be written with other digits.
  const bool same_leaf = a.kind == Syntax::Kind::number ? a.number == b.number : a.text == b.text;
  if (a.kind != b.kind || !same_leaf || a.argument_names != b.argument_names ||
      a.children.size() != b.children.size())
    return false;
  for (std::size_t i = 0; i < a.children.size(); ++i)
    if (!same(a.children[i], b.children[i])) return false;
  return true;
}

void check_syntax(std::string_view text) {
  Syntax tree;
  if (refusal([&] { tree = parse_syntax(text); }, {ErrorCode::usage})) return;
  const std::string spelled = deparse(tree);
  const auto refused = refusal(
      [&] {
        require(same(parse_syntax(spelled), tree),
                "the spelling of a tree is read as the same tree:", spelled);
      },
      {ErrorCode::usage});
  require(!refused, "the spelling of a tree is read:", spelled);
}

void check_variable(const Expression& variable) {
  const auto refused = refusal(
      [&] {
        const auto part = static_cast<std::size_t>(variable.part) - 1;
        const Expression again = variable.computed()
                                     ? expressions_from(parse_syntax(variable.source)).at(part)
                                     : parse_expression(variable.text);
        require(again == variable, "an expression's text is it:", variable.text);
      },
      {ErrorCode::usage});
  require(!refused, "an expression's text is read:", variable.text);
  if (variable.computed()) return;
  const std::vector<double> row(variable.columns().size(), 0.5);
  static_cast<void>(variable.evaluate(row));
}

void check_formula(std::string_view text) {
  FormulaTerms formula;
  if (refusal([&] { formula = parse_terms(text); }, {ErrorCode::usage})) return;
  const auto refused = refusal(
      [&] {
        const FormulaTerms again = parse_terms(formula.text);
        require(again.text == formula.text && again.response == formula.response &&
                    again.intercept == formula.intercept && again.parametric == formula.parametric &&
                    again.smooths == formula.smooths && again.offsets == formula.offsets,
                "a formula's text is it:", formula.text);
      },
      {ErrorCode::usage});
  require(!refused, "a formula's text is read:", formula.text);
  for (const Expression& variable : formula.variables()) check_variable(variable);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = tessera::fuzz::text_of(data, size);
  tessera::gam::check_syntax(text);
  tessera::gam::check_formula(text);
  return 0;
}
