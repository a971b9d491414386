// SPDX-License-Identifier: Apache-2.0
#include "gam/design/model_terms.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "gam/basis/bases.hpp"
#include "gam/data/read_districts.hpp"
#include "gam/design/parametric.hpp"
#include "gam/formula/compile.hpp"
#include "gam/formula/polynomial_contrasts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

class TermMaker {
 public:
  TermMaker(const Workers& workers, const FormulaTerms& formula, Frame& frame)
      : workers_(workers), formula_(formula), frame_(frame) {}

  FormulaTerms run() {
    FormulaTerms out = formula_;
    out.offsets.clear();
    out.model_frame = out.variables();
    out.offsets = formula_.offsets;
    out.parametric.clear();
    const std::vector<std::vector<bool>> contrasts = coded_by_contrasts(formula_, frame_);
    for (std::size_t t = 0; t < formula_.parametric.size(); ++t) {
      std::vector<ParametricTerm> products = expanded(formula_.parametric[t], contrasts[t]);
      std::ranges::move(products, std::back_inserter(out.parametric));
    }
    for (SmoothSpec& smooth : out.smooths) {
      if (smooth.factor_smooth) tell_factors(smooth);
      for (MarginSpec& margin : smooth.margins) {
        if (basis_of(margin.basis).of_districts) take_districts(margin, smooth.label);
      }
    }
    for (FormulaTerms& one : out.further) one = TermMaker(workers_, FormulaTerms(one), frame_).run();
    return out;
  }

 private:
  /// Reads the districts of a margin, and adds those without rows to the levels of its factor.
  void take_districts(MarginSpec& margin, const std::string& label) {
    Variable& variable = frame_.variables[at(frame_.index_of(margin.variable.text))];
    if (!variable.factor)
      throw base::input_error(
          R"({}: '{}' has numbers, and bs="{}" needs names of districts: write factor({}))", label,
          variable.name, margin.basis, variable.name);
    if (!margin.districts_file.empty())
      margin.districts = read_districts(workers_.comm, margin.districts_file, variable.name);
    const std::vector<std::string>& names = margin.districts.names;
    for (const std::string& level : variable.levels) {
      if (std::ranges::find(names, level) == names.end())
        throw base::input_error(
            "{}: '{}' has the level '{}', but this level is not among the {} districts{}{}: add the level to "
            "the districts",
            label, variable.name, level, names.size(), margin.districts_file.empty() ? "" : " of ",
            margin.districts_file);
    }
    for (const std::string& name : names) {
      if (std::ranges::find(variable.levels, name) == variable.levels.end()) variable.levels.push_back(name);
    }
  }

  /// Splits the variables of a factor smooth into a margin of its numeric variables and one for each factor.
  void tell_factors(SmoothSpec& smooth) const {
    MarginSpec curve = std::move(smooth.margins.front());
    std::vector<Expression> numbers;
    std::vector<Expression> factors;
    curve.for_each_variable([&](const Expression& variable) {
      (frame_.at(variable.text).factor ? factors : numbers).push_back(variable);
    });
    if (factors.empty())
      throw base::input_error(
          "{}: bs=\"{}\" needs a factor, but all its variables are numbers: write factor() around the "
          "variable with levels",
          smooth.label, smooth.sum_to_zero ? "sz" : "fs");
    if (numbers.empty())
      throw base::input_error(
          "{}: bs=\"{}\" needs a number, but all its variables are factors: write bs=\"re\", or, if a "
          "variable has numbers in quotes, name the variable in the option numeric",
          smooth.label, smooth.sum_to_zero ? "sz" : "fs");
    if (factors.size() > 1 && !smooth.sum_to_zero)
      throw base::input_error(
          "{}: bs=\"fs\" takes one factor, but {} and {} are both factors: write bs=\"sz\", or, if a "
          "variable has numbers in quotes, name the variable in the option numeric",
          smooth.label, factors[0].text, factors[1].text);
    curve.variable = std::move(numbers.front());
    curve.others.assign(numbers.begin() + 1, numbers.end());
    if (smooth.sum_to_zero) settle(curve, static_cast<int>(numbers.size()), smooth.label);
    smooth.margins = {std::move(curve)};
    // Components are in reverse order; the levels of the first factor vary slowest, as in mgcv.
    for (auto factor = factors.rbegin(); factor != factors.rend(); ++factor) {
      MarginSpec& levels = smooth.margins.emplace_back();
      levels.basis = "re";
      levels.variable = std::move(*factor);
    }
  }

  /// Sets the defaults of a curve's basis, now that the number of numeric variables is known.
  static void settle(MarginSpec& curve, int variables, const std::string& label) {
    curve.variables = variables;
    const BasisKind& basis = basis_of(curve.basis);
    if (variables > 1 && !basis.several)
      throw base::input_error("{}: xt: bs=\"{}\" is a basis of one variable: write \"tp\" for several", label,
                              curve.basis);
    if (const auto fault = basis.settle(curve)) throw base::input_error("{}: {}", label, fault->text);
  }

  /// The products of the columns of a term's variables; the first variable varies fastest.
  [[nodiscard]] std::vector<ParametricTerm> expanded(const ParametricTerm& term,
                                                     const std::vector<bool>& contrasts) {
    std::vector<ParametricTerm> products(1);
    for (std::size_t i = term.variables.size(); i-- > 0;) {
      const bool ordered = frame_.at(term.variables[i].text).ordered && contrasts[i];
      if (ordered && term.penalty)
        throw base::usage_error(
            "para-pen: '{}' has the ordered factor '{}', whose polynomials are separate terms: make it an "
            "unordered factor",
            term.label, term.variables[i].text);
      const std::vector<Expression> columns =
          ordered ? polynomials(term.variables[i]) : std::vector<Expression>{term.variables[i]};
      std::vector<ParametricTerm> longer;
      for (const ParametricTerm& product : products) {
        for (const Expression& column : columns) {
          ParametricTerm& next = longer.emplace_back(product);
          next.variables.insert(next.variables.begin(), column);
          next.label = product.label.empty() ? column.text : column.text + ":" + product.label;
        }
      }
      products = std::move(longer);
    }
    for (ParametricTerm& product : products)
      product.penalty = term.penalty;  // no products if an ordered factor has one level
    return products;
  }

  [[nodiscard]] std::vector<Expression> polynomials(const Expression& factor) {
    const std::vector<std::string> levels = frame_.at(factor.text).levels;
    if (levels.size() > most_polynomial_levels)
      throw base::input_error(
          "the ordered factor '{}' has {} levels, but orthogonal polynomials distinguish at most {}: merge "
          "levels, or make it an unordered factor",
          factor.text, levels.size(), most_polynomial_levels);
    std::string texts;
    for (const std::string& level : levels) texts += (texts.empty() ? "" : ", ") + deparse_text(level);
    std::vector<Expression> columns;
    for (std::size_t j = 1; j < levels.size(); ++j) {
      const Expression column =
          made_of(fmt::format("contr.poly(factor({}, levels = c({})), {})", factor.text, texts, j),
                  factor.text + polynomial_suffix(j));
      columns.push_back(column);
      add_numbers(column, factor.text, polynomial_contrast(levels.size(), j));
    }
    return columns;
  }

  [[nodiscard]] static Expression made_of(const std::string& source, const std::string& name) {
    Expression expression = expression_from(parse_syntax(source));
    expression.text = name;
    return expression;
  }

  /// Adds a numeric variable to the frame, with one value for each level of a factor.
  void add_numbers(const Expression& expression, const std::string& factor,
                   const std::vector<double>& values) {
    if (std::ranges::any_of(frame_.variables,
                            [&](const Variable& one) { return one.name == expression.text; }))
      return;
    frame_.recipe.contrasts.push_back(expression);
    Variable variable;
    variable.name = expression.text;
    const Variable& from = frame_.at(factor);
    variable.numbers = frame_.memory.column<double>(frame_.memory.place<double>(frame_.complete.size()));
    double* const numbers = variable.numbers.writable();
    for_each_run(workers_, frame_, [&](int /*thread*/, std::size_t begin, std::size_t end) {
      from.prepare_to_read(begin, end);
      for (std::size_t i = begin; i < end; ++i)
        numbers[i] = from.codes[i] < 0 ? std::numeric_limits<double>::quiet_NaN() : values[at(from.codes[i])];
      variable.numbers.release_written(begin, end);
    });
    frame_.variables.push_back(std::move(variable));
  }

  const Workers& workers_;
  const FormulaTerms& formula_;
  Frame& frame_;
};

}  // namespace

FormulaTerms model_terms(const Workers& workers, const FormulaTerms& formula, Frame& frame) {
  return TermMaker(workers, formula, frame).run();
}

}  // namespace TESSERA_NAMESPACE::gam
