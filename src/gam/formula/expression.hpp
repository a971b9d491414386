// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A function of columns in R's syntax: compile.hpp describes the language. If its value is a number for
/// numeric columns, `steps` is set at once, in postfix order. Any other expression, such as f == "a" or
/// poly(x, 2), is `computed`: it depends on the types and levels of columns, or on statistics of all rows.
/// `compile` makes its steps once these are known. Constructed by `parse_terms`, `parse_expression` or
/// `column_expression`.
struct Expression {
  enum class Op {
    number,
    column,
    add,
    subtract,
    multiply,
    divide,
    power,
    modulo,
    whole_quotient,
    negate,
    log,
    log2,
    log10,
    log1p,
    exp,
    expm1,
    sqrt,
    sin,
    cos,
    tan,
    abs,
    floor,
    ceiling,
    trunc,
    sign,
    pnorm,
    dnorm,
    pmin,
    pmax,
    round,  ///< R's round(x, digits)
    less,   ///< the result of comparisons and logical operators is 1, 0 or NaN
    less_equal,
    equal,
    unequal,
    both,
    either,
    negation,
    choose,  ///< ifelse(); operands: a condition and two values
    is_missing,
    lookup,      ///< the element of `table` for a level's code; `number` for a code beyond the table
    match,       ///< index of the value in `table`; `number` if it is not there
    in_set,      ///< whether the value is in `table`; false for a missing value
    interval,    ///< index of the interval between breaks in `table`: see `interval_of`
    polynomial,  ///< column `index` of the orthogonal polynomials whose recurrence is in `table`
    spline       ///< see `spline` in evaluate.cpp
  };
  struct Step {
    Op op;
    double number = 0;
    std::string column{};
    int index = 0;  ///< for `column`: index in `columns()`
    std::vector<double> table{};
    /// NaN equals NaN.
    friend bool operator==(const Step& a, const Step& b) {
      const auto same = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
      return a.op == b.op && same(a.number, b.number) && a.column == b.column && a.index == b.index &&
             std::ranges::equal(a.table, b.table, same);
    }
  };

  std::string text;  ///< canonical spelling, e.g. "log(e)" or "I(x^2)": the variable's name
  std::vector<Step> steps;
  /// Whether the expression is factor() of a column, which then has levels even if they are numbers.
  bool factor = false;
  /// For a computed expression: `source` is the text that `compile` reads, and `reads` has the columns of the
  /// table in this text. `part` is the number of this column, from 1, if the text has several columns, such
  /// as poly(x, 2).
  std::string source{};
  int part = 1;
  std::vector<std::string> reads{};
  std::vector<std::string> numeric{};  ///< the columns of `reads` that must be numeric
  bool logical = false;                ///< whether the value is known to be TRUE or FALSE

  /// True for a column, which may be a factor, and for factor() of a column.
  [[nodiscard]] bool is_column() const noexcept { return steps.size() == 1 && steps[0].op == Op::column; }
  [[nodiscard]] bool computed() const noexcept { return !source.empty(); }
  /// The columns that the expression reads, each once, in order of appearance.
  [[nodiscard]] std::vector<std::string> columns() const;
  /// The value for one row, whose columns are in the order of `columns()`. NaN for missing values and
  /// undefined results, such as the log of a negative number. Does not allocate.
  [[nodiscard]] double evaluate(std::span<const double> columns_of_row) const;
  /// Evaluates several rows; `columns` has an array for each column.
  void evaluate(std::span<const double* const> columns, std::span<double> values) const;
  friend bool operator==(const Expression&, const Expression&) = default;
};

/// Maximum number of operands on the stack: with a fixed limit, a row needs no heap allocation.
inline constexpr std::size_t max_stack = 32;
void evaluate_steps(std::span<const Expression::Step> steps, std::span<const double* const> columns,
                    std::span<double> values);

/// Parses a single variable, e.g. "log(e)" or "factor(x)". Throws like `parse_terms`.
[[nodiscard]] Expression parse_expression(std::string_view text);

/// The value of an option: an expression, or else a column's name, such as "my weights".
[[nodiscard]] Expression option_expression(const std::string& text);

/// A column with any name: "my col" gets the text "`my col`".
[[nodiscard]] Expression column_expression(const std::string& column);

/// Converts a logical value to 1 or 0; otherwise it would be a factor.
[[nodiscard]] Expression as_number(Expression expression);

}  // namespace TESSERA_NAMESPACE::gam
