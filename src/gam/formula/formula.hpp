// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/options.hpp"
#include "gam/formula/expression.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// One margin of a smooth.
struct MarginSpec : BasisOptions {
  Expression variable;
  std::vector<Expression> others;  ///< variables after the first of an isotropic smooth
  std::string basis = "ps";        ///< the name of an available basis
  bool centred = false;            ///< ti(): sum-to-zero constraint over the rows
  bool fixed = false;              ///< fx: its penalty is omitted; for all margins see `SmoothSpec::fixed`
  friend bool operator==(const MarginSpec&, const MarginSpec&) = default;

  /// Calls `use(variable)` for each of its variables, in order.
  template <class Use>
  void for_each_variable(const Use& use) const {
    use(variable);
    for (const Expression& other : others) use(other);
  }
};

/// s(…), te(…), ti(…) or t2(…).
struct SmoothSpec {
  std::vector<MarginSpec> margins;
  bool tensor = false;
  bool interaction = false;  ///< ti: a tensor product of constrained margins, without a further constraint
  bool normalise = true;     ///< te's np: reparameterise each margin
  /// `by_spaces`: t2, with one ridge penalty per product of a penalised or unpenalised space from each margin
  /// (none for the wholly unpenalised product). `full`: each function of an unpenalised space makes a
  /// product, and a penalty, of its own.
  bool by_spaces = false;
  bool full = false;
  std::vector<int> orders;  ///< t2's ord: the numbers of penalised margins of its products; empty: all
  /// bs="fs" or "sz": a curve for each level of a factor. The only margin has all variables until their types
  /// are known (design/model_terms.hpp); then the first margin has the numbers, and each further one, a
  /// random effect, a factor.
  bool factor_smooth = false;
  bool sum_to_zero = false;  ///< bs="sz": the curves add up to zero over the levels of each factor
  std::optional<Expression> by;
  std::string label;  ///< as R prints it: "s(x)", "te(x,z)", "s(x):fac" before levels
  /// Smooths with the same id use the basis of the first, constructed from the variables of all, and share
  /// smoothing parameters; empty: none.
  std::string id;
  bool fixed = false;      ///< fx: no penalty
  std::vector<double> sp;  ///< smoothing parameter by penalty; negative: estimated; empty: all are estimated
  std::vector<double>
      point;  ///< pc: the point where the smooth is zero, by variable; empty: it sums to zero over the rows
  bool select = false;  ///< the null space of the penalties has a penalty of its own
  /// Whether mgcv's side conditions of nested smooths apply to it.
  [[nodiscard]] bool is_side_constrained() const;
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
  std::string text;     ///< as the user wrote it, blanks normalised
  Expression response;  ///< for cbind(successes, failures): the proportion of successes
  std::optional<Expression>
      trials{};  ///< for cbind(): successes + failures, which multiply the prior weights
  bool intercept = true;
  std::vector<ParametricTerm> parametric;  ///< main effects first, then interactions, as R's terms()
  std::vector<SmoothSpec> smooths;
  std::vector<Expression> offsets;
  std::vector<Expression> model_frame{};  ///< see model_terms.hpp: variables of rewritten terms, no offsets
  bool all_columns = false;  ///< the formula has '.', all columns of the table: see `with_columns`

  /// Every variable of the right-hand side and the response, each once.
  [[nodiscard]] std::vector<Expression> variables() const;
  /// Texts of the variables that must be numbers: of smooths other than re, fs and sz, and of offsets.
  [[nodiscard]] std::vector<std::string> numeric_variables() const;
};

/// Parses a formula as R users write it. Throws `tessera::Error(usage)` with the position and what was
/// expected there, also for an unsupported construct (another basis, `d=`, …).
///
/// The right-hand side follows R's algebra: `+`, `:`, `*`, `/` (nesting), `^`, `-` and parentheses of
/// terms, `0`, `1` and `- 1` for the intercept. Labels are those of mgcv. `k`, `m` and `bs` have mgcv's
/// defaults; where mgcv would warn and replace an unusable value by a default, this throws.
[[nodiscard]] FormulaTerms parse_terms(std::string_view text);

/// The text of a formula with '.' replaced by the sum of all columns, except columns that the response reads
/// and columns whose names begin with a point. Throws `Error(usage)` if none is left.
[[nodiscard]] std::string with_columns(std::string_view text, std::span<const std::string> columns);

}  // namespace TESSERA_NAMESPACE::gam
