// SPDX-License-Identifier: Apache-2.0
#include "gam/formula/from_syntax.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

namespace tessera::gam {
namespace {

using Op = Expression::Op;

// Operands waiting at any time while an expression is evaluated: bounded, so that a row needs no heap.
constexpr std::size_t max_stack = 32;

struct Function {
  std::string_view name;
  std::size_t arguments;
  std::optional<Op> op;  ///< none for I(), which says only how its argument is read
};
constexpr std::array<Function, 11> functions{{{"log", 1, Op::log},
                                              {"sqrt", 1, Op::sqrt},
                                              {"exp", 1, Op::exp},
                                              {"log1p", 1, Op::log1p},
                                              {"expm1", 1, Op::expm1},
                                              {"abs", 1, Op::abs},
                                              {"pnorm", 1, Op::pnorm},
                                              {"dnorm", 1, Op::dnorm},
                                              {"pmin", 2, Op::pmin},
                                              {"pmax", 2, Op::pmax},
                                              {"I", 1, std::nullopt}}};

constexpr std::array<std::pair<std::string_view, Op>, 5> operators{
    {{"+", Op::add}, {"-", Op::subtract}, {"*", Op::multiply}, {"/", Op::divide}, {"^", Op::power}}};

bool is_factor_call(const Syntax& syntax) {
  return syntax.is_call("factor") || syntax.is_call("as.factor");
}

class Compiler {
 public:
  void compile(const Syntax& syntax, std::size_t stack) {
    if (stack >= max_stack) formula_error(syntax.position, "an expression with too many open operands");
    switch (syntax.kind) {
      case Syntax::Kind::number: steps.push_back({Op::number, syntax.number, {}}); return;
      case Syntax::Kind::name: column(syntax); return;
      case Syntax::Kind::constant:
        formula_error(syntax.position, fmt::format("{} where a column is expected", syntax.text));
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
    const auto known = std::find(names_.begin(), names_.end(), syntax.text);
    const auto index = static_cast<int>(known - names_.begin());
    if (known == names_.end()) names_.push_back(syntax.text);
    steps.push_back({Op::column, 0, syntax.text, index});
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
    for (const auto& [name, arguments, op] : functions) {
      if (syntax.text != name) continue;
      const bool named = std::any_of(syntax.argument_names.begin(), syntax.argument_names.end(),
                                     [](const std::string& given) { return !given.empty(); });
      if (syntax.children.size() != arguments || named)
        formula_error(syntax.position,
                      fmt::format("{}() takes {}", name, arguments == 1 ? "one argument" : "two arguments"));
      for (std::size_t i = 0; i < arguments; ++i) compile(syntax.children[i], stack + i);
      if (op) steps.push_back({*op, 0, {}});
      return;
    }
    if (syntax.text == "cbind")
      formula_error(syntax.position,
                    "cbind() is not available: give the proportion of successes as the response, and the "
                    "number of trials as weights");
    if (is_factor_call(syntax))
      formula_error(syntax.position,
                    fmt::format("{} inside an arithmetic expression, which needs numbers", deparse(syntax)));
    if (syntax.text == "poly")
      formula_error(syntax.position, "poly() is not available: write the powers, as in x + I(x^2)");
    std::string known;
    for (const Function& function : functions) {
      if (!known.empty()) known += &function == &functions.back() ? " and " : ", ";
      known += function.name;
    }
    formula_error(syntax.position, fmt::format("unknown function {}(); there are {}", syntax.text, known));
  }

  std::vector<std::string> names_;
};

double normal_density(double x) {
  return std::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

// R's pmin() and pmax(): missing if one of the two is.
double least(double a, double b) {
  return std::isnan(a) ? a : b < a || std::isnan(b) ? b : a;
}

// R's arithmetic: x^2 is x * x exactly.
double power(double base, double exponent) {
  return exponent == 2 ? base * base : std::pow(base, exponent);
}

/// The values for some rows, `strip` at most; `value_of(column, row)` gives those of the columns.
template <std::size_t strip, class ValueOf>
void evaluate_strip(std::span<const Expression::Step> steps, std::size_t rows, const ValueOf& value_of,
                    double* values) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): every row would pay for what a step overwrites
  std::array<std::array<double, strip>, max_stack + 1> stack;
  std::size_t top = 0;  // operands waiting
  const auto push = [&](const auto& value_at) {
    for (std::size_t i = 0; i < rows; ++i) stack[top][i] = value_at(i);
    ++top;
  };
  const auto replace = [&](const auto& function) {
    std::array<double, strip>& operand = stack[top - 1];
    for (std::size_t i = 0; i < rows; ++i) operand[i] = function(operand[i]);
  };
  const auto join = [&](const auto& function) {
    const std::array<double, strip>& right = stack[--top];
    std::array<double, strip>& left = stack[top - 1];
    for (std::size_t i = 0; i < rows; ++i) left[i] = function(left[i], right[i]);
  };
  for (const Expression::Step& step : steps) {
    switch (step.op) {
      case Op::number: push([&](std::size_t) { return step.number; }); break;
      case Op::column:
        push([&](std::size_t i) { return value_of(static_cast<std::size_t>(step.index), i); });
        break;
      case Op::negate: replace([](double x) { return -x; }); break;
      case Op::log: replace([](double x) { return std::log(x); }); break;
      case Op::sqrt: replace([](double x) { return std::sqrt(x); }); break;
      case Op::exp: replace([](double x) { return std::exp(x); }); break;
      case Op::log1p: replace([](double x) { return std::log1p(x); }); break;
      case Op::expm1: replace([](double x) { return std::expm1(x); }); break;
      case Op::abs: replace([](double x) { return std::abs(x); }); break;
      case Op::pnorm: replace([](double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }); break;
      case Op::dnorm: replace(normal_density); break;
      case Op::add: join([](double a, double b) { return a + b; }); break;
      case Op::subtract: join([](double a, double b) { return a - b; }); break;
      case Op::multiply: join([](double a, double b) { return a * b; }); break;
      case Op::divide: join([](double a, double b) { return a / b; }); break;
      case Op::power: join(power); break;
      case Op::pmin: join(least); break;
      case Op::pmax: join([](double a, double b) { return -least(-a, -b); }); break;
    }
  }
  std::copy_n(stack[0].begin(), rows, values);
}

}  // namespace

bool is_function(std::string_view name) {
  return std::any_of(functions.begin(), functions.end(), [&](const Function& f) { return f.name == name; });
}

Expression expression_from(const Syntax& syntax) {
  Compiler compiler;
  if (!is_factor_call(syntax)) {
    compiler.compile(syntax, 0);
    return {deparse(syntax), std::move(compiler.steps), false};
  }
  const bool of_column = syntax.children.size() == 1 && syntax.children[0].kind == Syntax::Kind::name &&
                         syntax.argument_names[0].empty();
  if (!of_column)
    formula_error(syntax.position, fmt::format("{}() takes one column, and nothing else", syntax.text));
  compiler.compile(syntax.children[0], 0);
  return {deparse(syntax), std::move(compiler.steps), true};
}

Expression parse_expression(std::string_view text) {
  return expression_from(parse_syntax(text));
}

Expression column_expression(const std::string& column) {
  Syntax name;
  name.kind = Syntax::Kind::name;
  name.text = column;
  return {deparse(name), {{Op::column, 0, column}}, false};
}

std::vector<std::string> Expression::columns() const {
  std::vector<std::string> names;
  for (const Step& step : steps) {
    if (step.op == Op::column && static_cast<std::size_t>(step.index) == names.size())
      names.push_back(step.column);
  }
  return names;
}

double Expression::evaluate(std::span<const double> columns_of_row) const {
  double value = 0;
  evaluate_strip<1>(
      steps, 1, [&](std::size_t column, std::size_t) { return columns_of_row[column]; }, &value);
  return value;
}

void Expression::evaluate(std::span<const double* const> columns, std::span<double> values) const {
  constexpr std::size_t strip = 64;
  for (std::size_t begin = 0; begin < values.size(); begin += strip)
    evaluate_strip<strip>(
        steps, std::min(strip, values.size() - begin),
        [&](std::size_t column, std::size_t row) { return columns[column][begin + row]; },
        values.data() + begin);
}

}  // namespace tessera::gam
