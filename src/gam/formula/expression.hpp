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

/// A function of columns in R's syntax: compile.hpp describes the language. If an expression is a number for
/// numeric columns, its steps are in postfix order, ready for evaluation. Any other expression, such as f ==
/// "a" or poly(x, 2), is `computed`: its meaning depends on the columns' types and levels, or on all rows, so
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
    round,  ///< R's round() of a number to a number of decimals
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
    interval,    ///< index of the interval between breaks in `table`: see cut() in compile.cpp
    polynomial,  ///< column `index` of the orthogonal polynomials whose recurrence is in `table`
    spline       ///< a spline: see `table` in evaluate.cpp
  };
  struct Step {
    Op op;
    double number = 0;
    std::string column{};
    int index = 0;  ///< index of a column in `columns()`
    std::vector<double> table{};
    /// Missing numbers count as equal.
    friend bool operator==(const Step& a, const Step& b) {
      const auto same = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
      return a.op == b.op && same(a.number, b.number) && a.column == b.column && a.index == b.index &&
             std::ranges::equal(a.table, b.table, same);
    }
  };

  std::string text;  ///< canonical spelling, e.g. "log(e)" or "I(x^2)": the variable's name
  std::vector<Step> steps;
  /// Whether the expression is factor(x): the levels of the column, even if they are numbers.
  bool factor = false;
  /// For a computed expression: the text that `compile` reads; the number of this column, from 1, if the text
  /// has several, such as poly(x, 2); and the columns of the table that the text reads.
  std::string source{};
  int part = 1;
  std::vector<std::string> reads{};
  std::vector<std::string> numeric{};  ///< those columns of `reads` that must be numbers
  bool logical = false;                ///< whether the value is known to be TRUE or FALSE

  /// True for a single column, which may be a factor, or for factor() of one.
  [[nodiscard]] bool is_column() const noexcept { return steps.size() == 1 && steps[0].op == Op::column; }
  [[nodiscard]] bool computed() const noexcept { return !source.empty(); }
  /// The columns that it reads, each once, in order of appearance.
  [[nodiscard]] std::vector<std::string> columns() const;
  /// The value for one row, whose columns are in the order of `columns()`. NaN for missing values and
  /// undefined results, such as the log of a negative number. Does not allocate.
  [[nodiscard]] double evaluate(std::span<const double> columns_of_row) const;
  /// Evaluates several rows; `columns` has the columns' arrays, and `values` room for the results.
  void evaluate(std::span<const double* const> columns, std::span<double> values) const;
  friend bool operator==(const Expression&, const Expression&) = default;
};

/// Maximum number of operands on the stack, so that a row needs no heap allocation.
inline constexpr std::size_t max_stack = 32;
void evaluate_steps(std::span<const Expression::Step> steps, std::span<const double* const> columns,
                    std::span<double> values);

/// Parses a single variable, e.g. "log(e)" or "factor(x)". Throws like `parse_terms`.
[[nodiscard]] Expression parse_expression(std::string_view text);

/// The value of an option: an expression, or else a column's name, such as "my weights".
[[nodiscard]] Expression option_expression(const std::string& text);

/// A column with any name: "my col" gets the text "`my col`".
[[nodiscard]] Expression column_expression(const std::string& column);

/// Converts the logical value of an expression to 1 or 0. For computed expressions, whose logical values are
/// otherwise factors.
[[nodiscard]] Expression as_number(Expression expression);

}  // namespace TESSERA_NAMESPACE::gam
