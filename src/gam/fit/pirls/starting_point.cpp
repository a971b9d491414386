// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/pirls/starting_point.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "gam/data/frame/extents.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace TESSERA_NAMESPACE::gam {

bool has_own_start(const Family& family) {
  return !family.linear() && family.start() != Start::mean;
}

double predictor_of(const Family& family, double mean) {
  if (const auto found = family.predictor(mean)) return *found;
  throw base::input_error(
      "the mean response {:g} is outside the range of {}({}): use another link, or check the response", mean,
      family.name(), family.link_name());
}

std::optional<std::vector<double>> coefficients_of_mean(const Design& design, const Family& family,
                                                        double mean) {
  const CoefBlock* const intercept = design.intercept();
  if (intercept == nullptr) return std::nullopt;
  std::vector<double> coef(static_cast<std::size_t>(design.coef_size));
  coef[static_cast<std::size_t>(intercept->coef_begin)] = predictor_of(family, mean);
  return coef;
}

Extent extent_of_offset(const Workers& workers, const Rows& rows) {
  const auto measure = [&](std::size_t row, std::span<Extent> here) {
    double sum = 0;
    for (const int offset : rows.offsets)
      sum += rows.response_factor * rows.frame->variables[base::at(offset)].numbers[row];
    here[0].add(sum);
  };
  return extents_of(workers, *rows.frame, 1, measure).front();
}

double inner_predictor(const Workers& workers, const Rows& rows, double mean) {
  const double eta = predictor_of(rows.family, mean);
  const PredictorRange range = rows.family.predictors();
  if (rows.offsets.empty() || !range.any()) return eta;
  const Extent offset = extent_of_offset(workers, rows);
  return eta - (range.has_lower() ? offset.min : offset.max);
}

namespace {

/// Sets a predictor to `value` by an intercept or a factor coded by all levels; false without either.
bool set_constant(const Design& design, int predictor, double value, std::vector<double>& coef) {
  const auto constant = std::ranges::find_if(design.blocks, [&](const CoefBlock& block) {
    const RawTerm& term = design.term_of(block);
    if (term.predictor != predictor || block.penalty || term.is_dense() || term.components.size() > 1)
      return false;
    if (!term.components.empty() && term.components[0].kind != Component::Kind::factor) return false;
    const std::vector<double> ones(base::at(block.coef_size), 1.0);
    return std::ranges::all_of(block.to_raw(ones), [](double one) { return one == 1; });
  });
  if (constant == design.blocks.end()) return false;
  std::fill_n(coef.begin() + constant->coef_begin, constant->coef_size, value);
  return true;
}

}  // namespace

std::vector<double> unit_coefficients(const Design& design) {
  std::vector<double> coef(base::at(design.coef_size));
  return set_constant(design, 0, 1, coef) ? coef : std::vector<double>();
}

std::optional<std::vector<double>> inner_coefficients(const Workers& workers, const Rows& rows, double mean) {
  std::vector<double> coef(base::at(rows.design->coef_size));
  const double value = inner_predictor(workers, rows, mean);
  return set_constant(*rows.design, 0, value, coef) ? std::optional(std::move(coef)) : std::nullopt;
}

ResponseLevel level_of_response(const RawMoments& moments) {
  constexpr double least_variance = 1e-10;  // relative to the squared mean; less is rounding
  const double mean = moments.mean_response();
  const double variance = moments.sum_weighted_square / moments.sum_weight - mean * mean;
  return {mean, std::sqrt(std::max(variance, least_variance * mean * mean))};
}

std::vector<double> first_coefficients(const Design& design, const Family& family,
                                       const RawMoments& moments) {
  if (const SeveralFamily* several = family.several()) {
    const std::vector<double> eta = several->first_predictors(level_of_response(moments));
    std::vector<double> coef(base::at(design.coef_size));
    for (int p = 0; p < several->predictors(); ++p) set_constant(design, p, eta[base::at(p)], coef);
    return coef;
  }
  if (!has_own_start(family)) {
    if (auto coef = coefficients_of_mean(design, family, moments.mean_response())) return *std::move(coef);
    if (family.start() == Start::mean)
      throw base::usage_error("the family {} needs a formula with an intercept: remove - 1 or + 0",
                              family.text());
  }
  return std::vector<double>(static_cast<std::size_t>(design.coef_size));
}

}  // namespace TESSERA_NAMESPACE::gam
