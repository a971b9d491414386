// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/options.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::gam {

/// Arithmetic on columns, as R writes it: numbers, columns, + - * / ^, unary minus, parentheses, and
/// log, sqrt, exp, log1p, expm1, abs, pnorm, dnorm, pmin, pmax, I. In postfix order, ready to evaluate. Made
/// by `parse_terms`, `parse_expression` or `column_expression`.
struct Expression {
  enum class Op {
    number,
    column,
    add,
    subtract,
    multiply,
    divide,
    power,
    negate,
    log,
    sqrt,
    exp,
    log1p,
    expm1,
    abs,
    pnorm,
    dnorm,
    pmin,
    pmax
  };
  struct Step {
    Op op;
    double number = 0;
    std::string column;
    int index = 0;  ///< of the column in `columns()`
    friend bool operator==(const Step&, const Step&) = default;
  };

  std::string text;  ///< canonical spelling, e.g. "log(e)" or "I(x^2)": the variable's name
  std::vector<Step> steps;
  bool factor = false;  ///< factor(x): the levels of the column, which may be numbers

  /// True if it is one column as it stands, which may then be a factor, or the factor of one.
  [[nodiscard]] bool is_column() const noexcept { return steps.size() == 1 && steps[0].op == Op::column; }
  /// The columns it reads, each once, in order of appearance.
  [[nodiscard]] std::vector<std::string> columns() const;
  /// The value for one row, whose columns come in the order of `columns()`. A missing value is NaN, and
  /// so is what R makes NaN of (the log of a negative number). Cost: no allocation.
  [[nodiscard]] double evaluate(std::span<const double> columns_of_row) const;
  /// The same for several rows: where the values of each column begin, and room for those of the expression.
  void evaluate(std::span<const double* const> columns, std::span<double> values) const;
  friend bool operator==(const Expression&, const Expression&) = default;
};

/// One margin of a smooth.
struct MarginSpec : BasisOptions {
  Expression variable;
  std::vector<Expression> others;  ///< of an isotropic smooth of several variables, those beside the first
  std::string basis = "ps";        ///< the name of one that there is
  bool centred = false;            ///< of ti(): it sums to zero over the rows
  friend bool operator==(const MarginSpec&, const MarginSpec&) = default;

  /// Calls `use(variable)` for each of its variables, in order.
  template <class Use>
  void for_each_variable(const Use& use) const {
    use(variable);
    for (const Expression& other : others) use(other);
  }
};

/// s(…), te(…) or ti(…).
struct SmoothSpec {
  std::vector<MarginSpec> margins;
  bool tensor = false;
  bool interaction = false;  ///< ti: a tensor product of margins with constraints of their own, and no other
  bool normalise = true;     ///< te's np: reparameterise each margin
  std::optional<Expression> by;
  std::string label;  ///< as R prints it: "s(x)", "te(x,z)", "s(x):fac" before levels
  /// Smooths with the same have the basis of the first of them, made from the variables of all, and smoothing
  /// parameters in common; empty: none.
  std::string id;
  friend bool operator==(const SmoothSpec&, const SmoothSpec&) = default;
};

/// A parametric term: the product of its variables ("x", or "a:b").
struct ParametricTerm {
  std::vector<Expression> variables;
  std::string label;
  friend bool operator==(const ParametricTerm&, const ParametricTerm&) = default;
};

/// A formula, parsed (`Formula` is the public value).
struct FormulaTerms {
  std::string text;  ///< as the user wrote it, blanks normalised
  Expression response;
  bool intercept = true;
  std::vector<ParametricTerm> parametric;  ///< main effects first, then interactions, as R's terms()
  std::vector<SmoothSpec> smooths;
  std::vector<Expression> offsets;

  /// Every variable of the right-hand side and the response, each once.
  [[nodiscard]] std::vector<Expression> variables() const;
  /// Those of it, by their texts, that are numbers whatever the response: of smooths other than re, offsets.
  [[nodiscard]] std::vector<std::string> numeric_variables() const;
};

/// Parses a formula as R users write it. Throws `tessera::Error(usage)` with the position and what was
/// expected there, for a construct that is not supported too (another basis, `d=`, …).
///
/// The right-hand side follows R's algebra: `+`, `:`, `*`, `/` (nesting), `^`, `-` and parentheses of
/// terms, `0`, `1` and `- 1` for the intercept. Labels are those of mgcv. `k`, `m` and `bs` have mgcv's
/// defaults; where mgcv would warn and put a default in the place of an unusable value, this throws.
[[nodiscard]] FormulaTerms parse_terms(std::string_view text);

/// One variable alone, e.g. "log(e)" or "factor(x)". Throws as `parse_terms` does.
[[nodiscard]] Expression parse_expression(std::string_view text);

/// A column as it stands, whatever its name: "my col" has the text "`my col`".
[[nodiscard]] Expression column_expression(const std::string& column);

}  // namespace tessera::gam
