// SPDX-License-Identifier: Apache-2.0
#include "gam/design/parametric.hpp"

#include "base/errors.hpp"
#include "gam/terms/shape.hpp"

#include <algorithm>
#include <optional>

namespace TESSERA_NAMESPACE::gam {
namespace {

bool contains(const ParametricTerm& term, const Expression& variable) {
  return std::find(term.variables.begin(), term.variables.end(), variable) != term.variables.end();
}

/// True if `formula.parametric[term]` without its variable `skipped` is empty or part of an earlier term.
bool is_marginal(const FormulaTerms& formula, std::size_t term, std::size_t skipped) {
  const std::vector<Expression>& variables = formula.parametric[term].variables;
  if (variables.size() == 1) return true;
  return std::any_of(formula.parametric.begin(),
                     formula.parametric.begin() + static_cast<std::ptrdiff_t>(term),
                     [&](const ParametricTerm& earlier) {
                       for (std::size_t i = 0; i < variables.size(); ++i) {
                         if (i != skipped && !contains(earlier, variables[i])) return false;
                       }
                       return true;
                     });
}

/// The raw columns that a variable or term selects, with their names.
struct Coding {
  int raw_size = 1;
  std::vector<int> indices;
  std::vector<std::string> names;
};

Coding code(const Variable& variable, bool contrasts) {
  Coding coding;
  if (!variable.factor) {
    coding.indices = {0};
    coding.names = {variable.name};
    return coding;
  }
  coding.raw_size = static_cast<int>(variable.levels.size());
  for (int level = contrasts ? 1 : 0; level < coding.raw_size; ++level) {
    coding.indices.push_back(level);
    coding.names.push_back(variable.name + variable.levels[static_cast<std::size_t>(level)]);
  }
  return coding;
}

/// The product of two codings; the index of the left one varies fastest.
Coding product(const Coding& left, const Coding& right) {
  Coding out;
  out.raw_size = left.raw_size * right.raw_size;
  for (std::size_t r = 0; r < right.indices.size(); ++r) {
    for (std::size_t l = 0; l < left.indices.size(); ++l) {
      out.indices.push_back(right.indices[r] * left.raw_size + left.indices[l]);
      out.names.push_back(left.names[l] + ":" + right.names[r]);
    }
  }
  return out;
}

}  // namespace

std::vector<std::vector<bool>> coded_by_contrasts(const FormulaTerms& formula, const Frame& frame) {
  std::vector<std::vector<bool>> all;
  bool first_factor_is_full = !formula.intercept;
  for (std::size_t t = 0; t < formula.parametric.size(); ++t) {
    std::vector<bool>& contrasts = all.emplace_back();
    for (std::size_t i = 0; i < formula.parametric[t].variables.size(); ++i) {
      contrasts.push_back(is_marginal(formula, t, i));
      if (first_factor_is_full && frame.at(formula.parametric[t].variables[i].text).factor)
        contrasts.back() = first_factor_is_full = false;
    }
  }
  return all;
}

std::vector<ParametricColumns> parametric_columns(const FormulaTerms& formula, const Frame& frame) {
  std::vector<ParametricColumns> terms;
  if (formula.intercept) terms.push_back({"(Intercept)", {}, Matrix(1, 1), {"(Intercept)"}, {}});
  if (formula.intercept) terms[0].map(0, 0) = 1;

  const std::vector<std::vector<bool>> contrasts = coded_by_contrasts(formula, frame);
  for (std::size_t t = 0; t < formula.parametric.size(); ++t) {
    const ParametricTerm& term = formula.parametric[t];
    ParametricColumns columns;
    columns.label = term.label;
    columns.penalty = term.penalty;
    columns.components = shape_of(term, frame).components;
    std::optional<Coding> whole;
    for (std::size_t i = 0; i < term.variables.size(); ++i) {
      const int index = frame.index_of(term.variables[i].text);
      const Variable& variable = frame.variables[static_cast<std::size_t>(index)];
      if (variable.factor) {
        if (variable.levels.size() < 2) {
          throw base::input_error("factor '{}' has fewer than two levels: leave it out of the formula",
                                  variable.name);
        }
      }
      const Coding coding = code(variable, contrasts[t][i]);
      whole = whole ? product(*whole, coding) : coding;
      columns.variables.push_back(variable.name);
    }
    columns.map = Matrix(whole->raw_size, static_cast<int>(whole->indices.size()));
    for (std::size_t j = 0; j < whole->indices.size(); ++j) {
      columns.map(whole->indices[j], static_cast<int>(j)) = 1;
    }
    columns.names = std::move(whole->names);
    terms.push_back(std::move(columns));
  }
  return terms;
}

}  // namespace TESSERA_NAMESPACE::gam
