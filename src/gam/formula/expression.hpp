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

/// A function of columns, as R writes it: compile.hpp has the language. One whose value is a number for
/// numeric columns has steps in postfix order, ready to evaluate. Any other, as f == "a" or poly(x, 2), is
/// `computed`: what it means depends on the columns' types and levels, or on all rows, so that `compile`
/// makes its steps once these are known. Made by `parse_terms`, `parse_expression` or `column_expression`.
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
    round,  ///< of a number and its decimals
    less,   ///< comparisons and logical values are 1, 0 and NaN
    less_equal,
    equal,
    unequal,
    both,
    either,
    negation,
    choose,  ///< ifelse: of a condition and two values
    is_missing,
    lookup,      ///< `table` at a level's code; `number` for a level that the table has not
    match,       ///< the place in `table`; `number` for a value that is not there
    in_set,      ///< whether it is in `table`, which a missing value is not
    interval,    ///< the place of the interval between breaks in `table`: see cut() in compile.cpp
    polynomial,  ///< column `index` of the orthogonal polynomials whose recurrence `table` has
    spline       ///< the spline of `table`: see evaluate.cpp
  };
  struct Step {
    Op op;
    double number = 0;
    std::string column{};
    int index = 0;  ///< of the column in `columns()`
    std::vector<double> table{};
    /// A missing number is equal to another.
    friend bool operator==(const Step& a, const Step& b) {
      const auto same = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
      return a.op == b.op && same(a.number, b.number) && a.column == b.column && a.index == b.index &&
             std::ranges::equal(a.table, b.table, same);
    }
  };

  std::string text;  ///< canonical spelling, e.g. "log(e)" or "I(x^2)": the variable's name
  std::vector<Step> steps;
  bool factor = false;  ///< factor(x): the levels of the column, which may be numbers
  /// Of a computed expression: what `compile` reads, whose column `part` it is, from 1 on, where it has
  /// several, as poly(x, 2); and the columns that it reads.
  std::string source{};
  int part = 1;
  std::vector<std::string> reads{};
  std::vector<std::string> numeric{};  ///< columns among these that must be numbers
  bool logical = false;                ///< its value is TRUE or FALSE, if that is known

  /// True if it is one column as it stands, which may then be a factor, or the factor of one.
  [[nodiscard]] bool is_column() const noexcept { return steps.size() == 1 && steps[0].op == Op::column; }
  [[nodiscard]] bool computed() const noexcept { return !source.empty(); }
  /// The columns it reads, each once, in order of appearance.
  [[nodiscard]] std::vector<std::string> columns() const;
  /// The value for one row, whose columns come in the order of `columns()`. A missing value is NaN, and
  /// so is what R makes NaN of (the log of a negative number). Cost: no allocation.
  [[nodiscard]] double evaluate(std::span<const double> columns_of_row) const;
  /// The same for several rows: where the values of each column begin, and room for those of the expression.
  void evaluate(std::span<const double* const> columns, std::span<double> values) const;
  friend bool operator==(const Expression&, const Expression&) = default;
};

/// Evaluates steps, of which at most `max_stack` operands wait at any time: bounded, so that a row needs no
/// heap.
inline constexpr std::size_t max_stack = 32;
void evaluate_steps(std::span<const Expression::Step> steps, std::span<const double* const> columns,
                    std::span<double> values);

/// One variable alone, e.g. "log(e)" or "factor(x)". Throws as `parse_terms` does.
[[nodiscard]] Expression parse_expression(std::string_view text);

/// What an option names: an expression, or else a column, as "my weights".
[[nodiscard]] Expression option_expression(const std::string& text);

/// A column as it stands, whatever its name: "my col" has the text "`my col`".
[[nodiscard]] Expression column_expression(const std::string& column);

/// The same expression as a number where it is a logical value: 1 and 0. Of computed expressions, which else
/// are factors then.
[[nodiscard]] Expression as_number(Expression expression);

}  // namespace TESSERA_NAMESPACE::gam
