// SPDX-License-Identifier: Apache-2.0
#include "gam/family/family_function.hpp"

#include "base/errors.hpp"
#include "base/list_text.hpp"
#include "gam/formula/compile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using Op = Expression::Op;

/// A literal that CUDA C++ reads back to the same bits.
std::string literal(double number) {
  return number < 0 ? fmt::format("(-{:a})", -number) : fmt::format("{:a}", number);
}

/// A `Knowledge` for `compile` in which every variable is numeric.
class NumbersAlone : public Knowledge {
 public:
  ValueType type_of(const std::string& /*column*/) override { return {}; }
  std::vector<double> measured(const Statistic& statistic) override {
    throw base::usage_error("{} depends on all rows: write a function of one row", statistic.call);
  }
};

}  // namespace

FamilyFunction::FamilyFunction(std::string_view text, const std::vector<std::string>& arguments,
                               bool on_devices)
    : expression_(parse_expression(text)) {
  if (!on_devices && expression_.computed()) {  // such as ==, whose steps depend on the operand types
    NumbersAlone numbers;
    expression_ = {.text = expression_.text, .steps = compile(expression_, numbers).steps};
  }
  if (expression_.factor || expression_.computed())
    throw base::usage_error("{} has no numeric value: write an expression of numbers", expression_.text);
  for (const std::string& column : expression_.columns()) {
    const auto known = std::find(arguments.begin(), arguments.end(), column);
    if (known == arguments.end())
      throw base::usage_error("'{}' is not a variable of this expression: it may use {}", column,
                              base::list_text(arguments, "and"));
    indices_.push_back(static_cast<std::size_t>(known - arguments.begin()));
  }
  if (on_devices) static_cast<void>(device_expression());  // throws for a function that kernels lack
}

std::string FamilyFunction::device_expression() const {
  std::vector<std::string> operands;
  const auto pop = [&] {
    std::string top = std::move(operands.back());
    operands.pop_back();
    return top;
  };
  const auto call = [&](const char* function) { operands.push_back(fmt::format("{}({})", function, pop())); };
  const auto call_two = [&](const char* function) {
    const std::string right = pop();
    operands.push_back(fmt::format("{}({}, {})", function, pop(), right));
  };
  const auto infix = [&](char sign) {
    const std::string right = pop();
    operands.push_back(fmt::format("({} {} {})", pop(), sign, right));
  };
  for (const Expression::Step& step : expression_.steps) {
    switch (step.op) {
      case Op::number:
        if (!std::isfinite(step.number))
          throw base::usage_error(
              "{}: the functions of a family have a number that is not finite: write finite numbers",
              expression_.text);
        operands.push_back(literal(step.number));
        break;
      case Op::column: operands.push_back(step.column); break;
      case Op::negate: call("-"); break;
      case Op::add: infix('+'); break;
      case Op::subtract: infix('-'); break;
      case Op::multiply: infix('*'); break;
      case Op::divide: infix('/'); break;
      case Op::power: call_two("custom_power"); break;
      case Op::log: call("log"); break;
      case Op::sqrt: call("sqrt"); break;
      case Op::exp: call("exp"); break;
      case Op::log1p: call("log1p"); break;
      case Op::expm1: call("expm1"); break;
      case Op::abs: call("fabs"); break;
      case Op::pnorm: call("normcdf"); break;
      case Op::dnorm: call("custom_normal_density"); break;
      case Op::pmin: call_two("custom_least"); break;
      case Op::pmax: call_two("custom_greatest"); break;
      case Op::log2: call("log2"); break;
      case Op::log10: call("log10"); break;
      case Op::sin: call("sin"); break;
      case Op::cos: call("cos"); break;
      case Op::tan: call("tan"); break;
      case Op::floor: call("floor"); break;
      case Op::ceiling: call("ceil"); break;
      case Op::trunc: call("trunc"); break;
      default:
        throw base::usage_error(
            "{}: functions of a family cannot have logical values, rounding to digits or sign()",
            expression_.text);
    }
  }
  return pop();
}

}  // namespace TESSERA_NAMESPACE::gam
