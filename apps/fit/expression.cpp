// SPDX-License-Identifier: Apache-2.0
#include "formula_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

namespace tessera::fit {
namespace {

using Op = Expression::Op;

// Operands waiting at any time while an expression is evaluated: bounded, so that a row needs no heap.
constexpr std::size_t max_stack = 32;

constexpr std::array<std::pair<std::string_view, std::optional<Op>>, 4> functions{
    {{"log", Op::log}, {"sqrt", Op::sqrt}, {"exp", Op::exp}, {"I", std::nullopt}}};

constexpr std::array<std::pair<std::string_view, Op>, 5> operators{
    {{"+", Op::add}, {"-", Op::subtract}, {"*", Op::multiply}, {"/", Op::divide}, {"^", Op::power}}};

class Compiler {
 public:
  void compile(const Syntax& syntax, std::size_t stack) {
    if (stack >= max_stack) formula_error(syntax.position, "an expression with too many open operands");
    switch (syntax.kind) {
      case Syntax::Kind::number: steps.push_back({Op::number, syntax.number, {}}); return;
      case Syntax::Kind::name: column(syntax); return;
      case Syntax::Kind::group: compile(syntax.children[0], stack); return;
      case Syntax::Kind::unary:
        compile(syntax.children[0], stack);
        if (syntax.text == "-") steps.push_back({Op::negate, 0, {}});
        return;
      case Syntax::Kind::binary: binary(syntax, stack); return;
      case Syntax::Kind::call: call(syntax, stack); return;
      case Syntax::Kind::text: break;
    }
    formula_error(syntax.position, fmt::format("the text \"{}\" where a column is expected", syntax.text));
  }

  std::vector<Expression::Step> steps;

 private:
  void column(const Syntax& syntax) {
    if (syntax.text == ".") formula_error(syntax.position, "'.' is not available: name the columns");
    for (const std::string_view constant : {"TRUE", "FALSE", "NULL", "NA", "NaN", "Inf"}) {
      if (syntax.text == constant)
        formula_error(syntax.position, fmt::format("{} where a column is expected", constant));
    }
    const auto known = std::find(names_.begin(), names_.end(), syntax.text);
    const auto place = static_cast<int>(known - names_.begin());
    if (known == names_.end()) names_.push_back(syntax.text);
    steps.push_back({Op::column, 0, syntax.text, place});
  }

  void binary(const Syntax& syntax, std::size_t stack) {
    for (const auto& [text, op] : operators) {
      if (syntax.text != text) continue;
      compile(syntax.children[0], stack);
      compile(syntax.children[1], stack + 1);
      steps.push_back({op, 0, {}});
      return;
    }
    formula_error(syntax.position, fmt::format("'{}' inside an arithmetic expression", syntax.text));
  }

  void call(const Syntax& syntax, std::size_t stack) {
    for (const auto& [name, op] : functions) {
      if (syntax.text != name) continue;
      if (syntax.children.size() != 1 || !syntax.argument_names[0].empty())
        formula_error(syntax.position, fmt::format("{}() takes one argument", name));
      compile(syntax.children[0], stack);
      if (op) steps.push_back({*op, 0, {}});
      return;
    }
    if (syntax.text == "cbind")
      formula_error(syntax.position,
                    "cbind() is not available: give the proportion of successes as the response, and the "
                    "number of trials as weights");
    if (syntax.text == "factor" || syntax.text == "as.factor")
      formula_error(syntax.position, fmt::format("{}() is not available: a column is a factor if its fields "
                                                 "are text or quoted in the file",
                                                 syntax.text));
    formula_error(syntax.position,
                  fmt::format("unknown function {}(); there are log, sqrt, exp and I", syntax.text));
  }

  std::vector<std::string> names_;
};

// R's arithmetic: x^2 is x * x exactly.
double power(double base, double exponent) {
  return exponent == 2 ? base * base : std::pow(base, exponent);
}

}  // namespace

bool is_function(std::string_view name) {
  return std::any_of(functions.begin(), functions.end(), [&](const auto& f) { return f.first == name; });
}

Expression expression_from(const Syntax& syntax) {
  Compiler compiler;
  compiler.compile(syntax, 0);
  return {deparse(syntax), std::move(compiler.steps)};
}

Expression parse_expression(std::string_view text) {
  return expression_from(parse_syntax(text));
}

Expression column_expression(const std::string& column) {
  Syntax name;
  name.kind = Syntax::Kind::name;
  name.text = column;
  return {deparse(name), {{Op::column, 0, column}}};
}

std::vector<std::string> Expression::columns() const {
  std::vector<std::string> names;
  for (const Step& step : steps) {
    if (step.op == Op::column && static_cast<std::size_t>(step.place) == names.size())
      names.push_back(step.column);
  }
  return names;
}

double Expression::evaluate(std::span<const double> columns_of_row) const {
  std::array<double, max_stack + 1> stack;
  std::size_t top = 0;  // operands waiting
  for (const Step& step : steps) {
    switch (step.op) {
      case Op::number: stack[top++] = step.number; continue;
      case Op::column: stack[top++] = columns_of_row[static_cast<std::size_t>(step.place)]; continue;
      case Op::negate: stack[top - 1] = -stack[top - 1]; continue;
      case Op::log: stack[top - 1] = std::log(stack[top - 1]); continue;
      case Op::sqrt: stack[top - 1] = std::sqrt(stack[top - 1]); continue;
      case Op::exp: stack[top - 1] = std::exp(stack[top - 1]); continue;
      default: break;
    }
    const double right = stack[--top];
    double& left = stack[top - 1];
    switch (step.op) {
      case Op::add: left += right; break;
      case Op::subtract: left -= right; break;
      case Op::multiply: left *= right; break;
      case Op::divide: left /= right; break;
      default: left = power(left, right); break;
    }
  }
  return stack[0];
}

}  // namespace tessera::fit
