// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/formula/expression.hpp"
#include "gam/formula/syntax.hpp"

#include <string>
#include <vector>

/// From the text of an expression to its steps.
///
/// The language is R's: numbers, columns, + - * / ^ %% %/%, comparisons, ! & |, %in%, and the functions that
/// compile.cpp lists. A factor is the code of its level, from 0 on, and a logical value 0 or 1.
namespace TESSERA_NAMESPACE::gam {

/// What the value of an expression is.
struct ValueType {
  enum class Kind { unknown, number, logical, factor };
  Kind kind = Kind::number;
  bool ordered = false;
  std::vector<std::string> levels{};  ///< of a factor
  friend bool operator==(const ValueType&, const ValueType&) = default;
};

/// What an expression takes of all rows in which its operand is not missing.
struct Statistic {
  enum class Kind {
    levels,      ///< the distinct values, sorted
    range,       ///< the least and the largest
    moments,     ///< the mean, and the square root of sum((x - mean)^2) and of sum(x^2), over n - 1
    polynomial,  ///< of degree `arguments[0]`: the recurrence that `Expression::Op::polynomial` takes
    quantiles    ///< R's quantiles of type 7 at `arguments`, but for two: of the values from the first to the
                 ///< second
  };
  Kind kind;
  std::string call;  ///< its text, by which a model remembers the answer
  std::vector<Expression::Step> steps;
  std::vector<std::string> columns;  ///< that the steps read
  std::vector<double> arguments{};
};

/// What a computed expression needs to know.
class Knowledge {
 public:
  virtual ~Knowledge() = default;
  [[nodiscard]] virtual ValueType type_of(const std::string& column) = 0;
  [[nodiscard]] virtual std::vector<double> measured(const Statistic& statistic) = 0;
};

struct CompiledExpression {
  std::vector<Expression::Step> steps;
  std::vector<std::string> columns;
  ValueType type;
};

/// Throws `Error(usage)`, with the place in the expression, where a factor stands for a number, or the
/// reverse.
[[nodiscard]] CompiledExpression compile(const Expression& expression, Knowledge& knowledge);

/// The columns that the expression is, each one an expression: several for poly(), ns() and bs(). A value of
/// TRUE or FALSE is a factor. Throws `Error(usage)` at whatever is no expression.
[[nodiscard]] std::vector<Expression> expressions_from(const Syntax& syntax);

/// Of one column, which is a number where it is logical.
[[nodiscard]] Expression expression_from(const Syntax& syntax);

}  // namespace TESSERA_NAMESPACE::gam
