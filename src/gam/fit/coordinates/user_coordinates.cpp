// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/coordinates/user_coordinates.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "base/math/elementary.hpp"
#include "gam/inference/term_tests.hpp"
#include "gam/linalg/linalg.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

[[noreturn]] void out_of_range(const std::string& what) {
  throw base::input_error("{} overflows: rescale the response or the term's variable", what);
}

std::vector<double> column_factors(const Design& design, const std::vector<ColumnCombination>& combinations) {
  std::vector<double> factors(at(design.coef_size), 1.0);
  for (std::size_t j = 0; j < combinations.size(); ++j) {
    for (const auto& [column, factor] : combinations[j]) {
      if (at(column) == j) factors[j] = factor;
    }
  }
  for (const CoefBlock& block : design.blocks) {
    for (int i = 0; i < block.coef_size; ++i)
      factors[at(block.coef_begin + i)] *= block.by_scale * block.margin_scale;
  }
  return factors;
}

/// REML in the formula's columns minus REML in the columns of the fit.
double reml_difference(const FittedModel& model, const std::vector<double>& factors, const Rows& units) {
  const double rows = static_cast<double>(model.rows) / model.gamma;
  double difference = -(rows - model.design.null_space()) * base::log(units.response_factor) -
                      rows / 2 * base::log(units.prior_factor);
  for (const CoefBlock& block : model.design.blocks) {
    const int penalised = block.penalty ? block.penalty->rank() : 0;
    if (block.penalty) {
      difference -= (block.coef_size - penalised) * base::log(block.by_scale * block.margin_scale);
    } else {
      for (int i = 0; i < block.coef_size; ++i) difference -= base::log(factors[at(block.coef_begin + i)]);
    }
  }
  return difference;
}

/// Removes the powers of two from a design's columns, and corrects the smoothing parameters.
void undo_scaling(Design& design, std::vector<double>& log_sp, double prior_factor) {
  for (RawTerm& term : design.terms) {
    for (Component& component : term.components) {
      if (component.parts.empty()) continue;
      const double factor = component.parts.front().factor;
      for (NumericPart& part : component.parts) part.factor /= factor;
      if (component.parts.size() == 1 && component.parts.front().centre == 0) component.parts.clear();
    }
  }
  std::size_t sp = 0;
  for (CoefBlock& block : design.blocks) {
    if (!block.penalty) continue;
    const double square = block.margin_scale * block.margin_scale;
    if (!std::isnormal(square)) out_of_range("the penalty of " + block.label);
    for (Matrix& matrix : block.penalty->matrices) {
      for (double& value : matrix.values()) value /= square;
    }
    block.penalty->ridge /= square;
    for (std::size_t j = 0; j < block.penalty->count(); ++j, ++sp) {
      log_sp[sp] -= base::log(prior_factor) + 2 * base::log(block.by_scale);
      if (is_given(block, j)) block.log_sp[j] = log_sp[sp];
    }
    for (double& least : block.least_sp) least /= prior_factor;
    for (double& value : block.penalty->eigenvalues.values()) value /= square;
    for (double& value : block.s_scale) value *= square;
    block.by_scale = block.margin_scale = 1;
  }
}

/// The rows of the combination matrix, with its columns divided by `factors`, that differ from the identity.
std::vector<std::pair<int, ColumnCombination>> mixed_rows(const std::vector<ColumnCombination>& combinations,
                                                          const std::vector<double>& factors) {
  std::vector<ColumnCombination> rows(combinations.size());
  for (std::size_t j = 0; j < combinations.size(); ++j) {
    for (const auto& [column, factor] : combinations[j])
      rows[at(column)].emplace_back(static_cast<int>(j), factor / factors[j]);
  }
  std::vector<std::pair<int, ColumnCombination>> mixed;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].size() > 1) mixed.emplace_back(static_cast<int>(i), std::move(rows[i]));
  }
  return mixed;
}

/// Requires the coefficients and covariance before `undo_centring`.
Centring centring_of(const FittedModel& model, const std::vector<std::pair<int, ColumnCombination>>& mixed) {
  Centring centring;
  for (std::size_t t = 0; t < model.design.terms.size(); ++t) {
    const std::vector<Component>& components = model.design.terms[t].components;
    for (std::size_t c = 0; c < components.size(); ++c) {
      if (components[c].parts.empty()) continue;
      centring.components.push_back({static_cast<int>(t), static_cast<int>(c), components[c].parts});
    }
  }
  for (const auto& [coefficient, parts] : mixed) {
    centring.coefficients.push_back(coefficient);
    centring.values.push_back(model.coef[at(coefficient)]);
  }
  if (!model.covariance.empty()) {
    centring.covariance = Matrix(model.covariance.size(), static_cast<int>(mixed.size()));
    for (int k = 0; k < centring.covariance.cols(); ++k)
      std::ranges::copy(model.covariance.row(centring.coefficients[at(k)]),
                        centring.covariance.column(k).begin());
  }
  return centring;
}

void undo_centring(FittedModel& model, const std::vector<std::pair<int, ColumnCombination>>& mixed) {
  std::vector<double> values;
  for (const auto& [coefficient, parts] : mixed) {
    double value = 0;
    for (const auto& [from, factor] : parts) value += factor * model.coef[at(from)];
    values.push_back(value);
  }
  for (std::size_t k = 0; k < mixed.size(); ++k) model.coef[at(mixed[k].first)] = values[k];
  PartedMatrix& covariance = model.covariance;
  if (covariance.empty()) return;
  // First A V, then (A V) A'; V is symmetric, so its rows serve as columns.
  Matrix columns(covariance.size(), static_cast<int>(mixed.size()));
  for (std::size_t k = 0; k < mixed.size(); ++k) {
    const auto out = columns.column(static_cast<int>(k));
    for (const auto& [from, factor] : mixed[k].second) {
      add_multiple(out, factor, covariance.row(from));
    }
  }
  for (std::size_t k = 0; k < mixed.size(); ++k) {
    for (int i = 0; i < covariance.size(); ++i)
      covariance.set(i, mixed[k].first, columns(i, static_cast<int>(k)));
  }
  for (std::size_t k = 0; k < mixed.size(); ++k) {
    for (std::size_t m = 0; m <= k; ++m) {
      double sum = 0;
      for (const auto& [from, factor] : mixed[m].second) sum += factor * columns(from, static_cast<int>(k));
      covariance.set(mixed[k].first, mixed[m].first, sum);
    }
  }
}

/// Inverts T: the fit's columns, divided by their factors, are X T, where X has the formula's columns and T
/// combines each with earlier ones. `subtract(column, factor, other)` subtracts a multiple of `other`.
template <class Subtract>
void undo_centring(const std::vector<std::pair<int, ColumnCombination>>& mixed, const Subtract& subtract) {
  for (const auto& [coefficient, parts] : mixed) {
    for (const auto& [other, factor] : parts) {
      if (other != coefficient) subtract(other, factor, coefficient);
    }
  }
}

/// `before`: variances in the coordinates of the fit, which are never extreme.
void check_variances(const FittedModel& model, const std::vector<double>& before) {
  for (int i = 0; i < model.covariance.size(); ++i) {
    const double variance = model.covariance(i, i);
    if (std::isfinite(variance) && (before[at(i)] == 0 || std::isnormal(variance))) continue;
    out_of_range("the variance of the coefficient " + model.design.coef_names()[at(i)]);
  }
}

void test_coefficients(FittedModel& model, bool scale_estimated) {
  model.coefficient_tests.clear();
  for (const CoefBlock& block : model.design.blocks) {
    if (block.is_smooth()) continue;
    for (int i = 0; i < block.coef_size; ++i) {
      const int index = block.coef_begin + i;
      model.coefficient_tests.push_back(test_coefficient(block.names[at(i)], model.coef[at(index)],
                                                         std::sqrt(model.covariance(index, index)),
                                                         scale_estimated, model.residual_df()));
    }
  }
}

}  // namespace

void to_user_coordinates(FittedModel& model, const Rows& units, bool scale_estimated) {
  const std::vector<ColumnCombination> combinations = model.design.combinations();
  const std::vector<double> factors = column_factors(model.design, combinations);
  model.reml += reml_difference(model, factors, units);
  PartedMatrix& covariance = model.covariance;
  std::vector<double> variances;
  std::vector<double> units_of_coef;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (!covariance.empty()) variances.push_back(covariance(static_cast<int>(i), static_cast<int>(i)));
    units_of_coef.push_back(factors[i] / units.response_factor);
    model.coef[i] *= units_of_coef[i];
  }
  if (!covariance.empty()) covariance.scale(units_of_coef);
  undo_scaling(model.design, model.log_sp, units.prior_factor);

  const auto mixed = mixed_rows(combinations, factors);
  model.centring = centring_of(model, mixed);
  undo_centring(model, mixed);
  for (std::size_t i = 0; i < model.column_means.size(); ++i) model.column_means[i] /= factors[i];
  std::vector<double>& means = model.column_means;
  if (!means.empty())
    undo_centring(mixed, [&](int to, double factor, int from) { means[at(to)] -= factor * means[at(from)]; });
  if (!model.triangle.empty()) {
    const double root = std::sqrt(units.prior_factor);
    for (std::size_t i = 0; i < factors.size(); ++i) {
      for (double& value : model.triangle.column(static_cast<int>(i))) value /= root * factors[i];
    }
    undo_centring(mixed, [&](int to, double factor, int from) {
      add_multiple(model.triangle.column(to), -factor, model.triangle.column(from));
    });
  }
  model.design.raw_combinations.clear();
  for (RawTerm& term : model.design.terms) {
    for (Component& component : term.components) component.parts.clear();
  }
  if (covariance.empty()) return;
  check_variances(model, variances);
  test_coefficients(model, scale_estimated);
}

}  // namespace TESSERA_NAMESPACE::gam
