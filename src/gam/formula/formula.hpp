// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/options.hpp"
#include "gam/formula/expression.hpp"

#include <tessera/gam/formula.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

struct MarginSpec : BasisOptions {
  Expression variable;
  std::vector<Expression> others;  ///< the second and later variables of an isotropic smooth
  std::string basis = "ps";
  bool centred = false;  ///< whether the functions sum to zero over the rows, as in a margin of ti()
  /// Whether the margin's penalty is omitted (fx); for all margins see `SmoothSpec::fixed`.
  bool fixed = false;
  friend bool operator==(const MarginSpec&, const MarginSpec&) = default;

  template <class Use>
  void for_each_variable(const Use& use) const {
    use(variable);
    for (const Expression& other : others) use(other);
  }
};

/// A smooth: s(…), te(…), ti(…) or t2(…).
struct SmoothSpec {
  std::vector<MarginSpec> margins;
  bool tensor = false;
  /// ti(): a tensor product of margins with constraints, without a constraint on the product.
  bool interaction = false;
  bool normalise = true;  ///< whether to reparameterise each margin (te's np)
  /// `by_spaces`: t2(). Each margin is split into a penalised and an unpenalised space. Each product of one
  /// space per margin has a ridge penalty, except the product of the unpenalised spaces. `full`: each
  /// function of an unpenalised space is a separate space.
  bool by_spaces = false;
  bool full = false;
  std::vector<int> orders;  ///< t2()'s ord: the products to keep, by number of penalised margins; empty: all
  /// bs="fs" or "sz": a curve for each level of a factor. Until the types of its variables are known
  /// (design/model_terms.hpp), one margin has all variables. Afterwards, the first margin has the numeric
  /// ones, and each later margin is a random effect of one factor.
  bool factor_smooth = false;
  bool sum_to_zero = false;  ///< whether the curves add up to zero over the levels of each factor (bs="sz")
  std::optional<Expression> by;
  std::string label;  ///< R's label: "s(x)", "te(x,z)", "s(x):fac" (before levels are appended)
  /// Smooths with the same id share smoothing parameters. They have the basis of the first of these smooths,
  /// constructed from the variables of all. Empty: no id.
  std::string id;
  bool fixed = false;      ///< whether there is no penalty (fx)
  std::vector<double> sp;  ///< smoothing parameter by penalty; negative: estimated; empty: all are estimated
  /// The argument pc: the point where the smooth is zero; empty: the smooth sums to zero over the rows.
  std::vector<double> point;
  bool select = false;  ///< whether the null space of the penalties is penalised too
  /// With `select`: whether the sum-to-zero constraint drops a column, as in bam, or rotates all columns, as
  /// in gam with several linear predictors. The penalty of the null space depends on this choice.
  bool drops_column = true;
  /// Whether mgcv's side conditions of nested smooths apply to this smooth.
  [[nodiscard]] bool is_side_constrained() const;
  friend bool operator==(const SmoothSpec&, const SmoothSpec&) = default;
};

/// A parametric term: the product of its variables ("x", or "a:b").
struct ParametricTerm {
  std::vector<Expression> variables;
  std::string label;
  std::optional<ParametricPenalty> penalty{};
  friend bool operator==(const ParametricTerm&, const ParametricTerm&) = default;
};

/// A parsed formula (`Formula` is the public type). For a list of formulas, this is the first one; `further`
/// has the other formulas, of which only the terms are used.
struct FormulaTerms {
  std::string text;     ///< the user's text, with normalised blanks; for a list, the whole list
  Expression response;  ///< for cbind(successes, failures): the proportion of successes
  /// For cbind(): successes + failures, by which prior weights are multiplied.
  std::optional<Expression> trials{};
  std::optional<Expression> limit{};  ///< the second column of cbind(y, limit), of a censored family
  std::vector<Expression> columns{};  ///< both arguments of cbind()
  bool intercept = true;
  std::vector<ParametricTerm> parametric;  ///< main effects first, then interactions, as in R's terms()
  std::vector<SmoothSpec> smooths;
  std::vector<Expression> offsets;
  std::vector<Expression> model_frame{};  ///< original variables of rewritten terms, without offsets
  /// Whether the formula has '.', for all columns of the table: see `with_columns`.
  bool all_columns = false;
  std::vector<FormulaTerms> further{};  ///< formulas of the second and later predictors, then of shared terms
  /// For shared terms, 1 + 2 ~ s(x) - 1: their linear predictors, from 0; otherwise empty.
  std::vector<int> readers{};

  /// Number of formulas: one for each linear predictor, and for each set of shared terms.
  [[nodiscard]] int predictors() const noexcept { return 1 + static_cast<int>(further.size()); }
  /// Number of formulas of shared terms, which are the last ones.
  [[nodiscard]] int shared() const noexcept;
  /// For each formula, the linear predictors to which its terms are added; empty: no terms are shared.
  [[nodiscard]] std::vector<std::vector<int>> all_readers() const;
  [[nodiscard]] const FormulaTerms& of_predictor(int index) const {
    return index == 0 ? *this : further[static_cast<std::size_t>(index) - 1];
  }
  [[nodiscard]] std::vector<Expression> all_offsets() const;
  /// Every variable of the right-hand sides and the response, each once.
  [[nodiscard]] std::vector<Expression> variables() const;
  /// Variables that must be numeric: offsets, and those of smooths other than re, mrf, fs and sz.
  [[nodiscard]] std::vector<std::string> numeric_variables() const;
};

/// Parses a formula as R users write it. Throws `tessera::Error(usage)` with the position and what was
/// expected there, also for an unsupported construct (another basis, `d=`, …).
///
/// The right-hand side follows R's algebra: `+`, `:`, `*`, `/` (nesting), `^`, `-` and parentheses of
/// terms, `0`, `1` and `- 1` for the intercept. Labels are those of mgcv. `k`, `m` and `bs` have mgcv's
/// defaults; where mgcv would warn and replace an unusable value by a default, this throws.
///
/// `list(y ~ s(x), ~ s(z))` has a formula for each linear predictor, the response in the first one. Labels of
/// the second one have mgcv's suffix: s.1(z), (Intercept).1, and so on. After these, `1 + 2 ~ s(w) - 1` has
/// terms that linear predictors 1 and 2 share, with the same coefficients.
[[nodiscard]] FormulaTerms parse_terms(std::string_view text);

/// Converts a formula for a censored family: the arguments of cbind(y, limit) become response and limit.
[[nodiscard]] FormulaTerms with_limits(FormulaTerms formula);

/// The text of a formula with '.' replaced by the sum of all columns, except columns that the response reads
/// and columns whose names begin with '.'. Throws `Error(usage)` if no column is left.
[[nodiscard]] std::string with_columns(std::string_view text, std::span<const std::string> columns);

}  // namespace TESSERA_NAMESPACE::gam
