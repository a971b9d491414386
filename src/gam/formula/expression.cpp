// SPDX-License-Identifier: Apache-2.0
#include "gam/formula/expression.hpp"

#include "gam/formula/compile.hpp"

#include <tessera/error.hpp>

#include <utility>

namespace TESSERA_NAMESPACE::gam {

Expression parse_expression(std::string_view text) {
  return expression_from(parse_syntax(text));
}

Expression option_expression(const std::string& text) {
  try {
    return parse_expression(text);
  } catch (const Error&) {
    if (text.find_first_of("()`\"'") != std::string::npos) throw;
    return column_expression(text);
  }
}

Expression column_expression(const std::string& column) {
  Syntax name;
  name.kind = Syntax::Kind::name;
  name.text = column;
  return {.text = deparse(name), .steps = {{.op = Expression::Op::column, .column = column}}};
}

Expression as_number(Expression expression) {
  if (!expression.logical) return expression;
  expression.logical = false;
  const std::string text = "as.numeric(" + expression.text + ")";
  expression.source = expression.steps.empty() ? text : std::string();
  if (expression.steps.empty()) {
    expression.text = text;
    return expression;
  }
  return {.text = text, .steps = std::move(expression.steps)};
}

std::vector<std::string> Expression::columns() const {
  if (computed()) return reads;
  std::vector<std::string> names;
  for (const Step& step : steps) {
    if (step.op == Op::column && static_cast<std::size_t>(step.index) == names.size())
      names.push_back(step.column);
  }
  return names;
}

}  // namespace TESSERA_NAMESPACE::gam
