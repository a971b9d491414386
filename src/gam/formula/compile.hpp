// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/formula/expression.hpp"
#include "gam/formula/syntax.hpp"

#include <string>
#include <vector>

/// Compiles the text of an expression to steps in postfix order.
///
/// The language is R's: numbers, columns, + - * / ^ %% %/%, comparisons, ! & |, %in%, and the functions
/// listed in compile.cpp. A factor is represented by the code of its level, from 0 on, and a logical value by
/// 0 or 1.
namespace TESSERA_NAMESPACE::gam {

struct ValueType {
  enum class Kind { unknown, number, logical, factor };
  Kind kind = Kind::number;
  bool ordered = false;
  std::vector<std::string> levels{};
  friend bool operator==(const ValueType&, const ValueType&) = default;
};

/// A statistic of an operand over all rows in which it is not missing.
struct Statistic {
  enum class Kind {
    levels,  ///< the distinct values, sorted
    range,
    moments,     ///< mean, sqrt(sum((x - mean)^2) / (n - 1)) and sqrt(sum(x^2) / (n - 1))
    polynomial,  ///< the recurrence for `Expression::Op::polynomial`, up to degree `arguments[0]`
    quantiles    ///< R's quantiles of type 7 at the probabilities `arguments[2…]`, of the values from
                 ///< `arguments[0]` to `arguments[1]`
  };
  Kind kind;
  std::string call;  ///< text of the call; key of the result in a model
  std::vector<Expression::Step> steps;
  std::vector<std::string> columns;  ///< columns that the steps read
  std::vector<double> arguments{};
};

/// Provides the types and levels of columns, and statistics, to `compile`.
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

/// Throws `Error(usage)`, with the position in the expression, for a factor used as a number, or the reverse.
[[nodiscard]] CompiledExpression compile(const Expression& expression, Knowledge& knowledge);

/// The expressions of a term's variable, one for each column: poly(), ns() and bs() have several columns. A
/// logical value becomes a factor. Throws `Error(usage)` for anything that is not an expression.
[[nodiscard]] std::vector<Expression> expressions_from(const Syntax& syntax);

/// The expression of a variable with a single column; a logical value is a number.
[[nodiscard]] Expression expression_from(const Syntax& syntax);

}  // namespace TESSERA_NAMESPACE::gam
