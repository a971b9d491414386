// SPDX-License-Identifier: Apache-2.0
#include "gam/many/response_results.hpp"

#include "base/at.hpp"
#include "gam/inference/term_tests.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

using base::at;

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

Matrix unpacked(std::span<const double> packed, int size) {
  Matrix square(size, size);
  std::size_t i = 0;
  for (int a = 0; a < size; ++a) {
    for (int b = a; b < size; ++b) square(a, b) = square(b, a) = packed[i++];
  }
  return square;
}

}  // namespace

OutputColumn number_column(std::string name, std::span<const double> numbers) {
  OutputColumn column{.name = name, .values = {}};
  column.values.name = std::move(name);
  column.values.numbers = std::vector<double>(numbers.begin(), numbers.end());
  return column;
}

ResponseResults::ResponseResults(const SharedDesign& design, const ManyEstimator& estimator)
    : design_(design), estimator_(estimator) {
  columns_ = {"rows",           "mean", "zeros",    "iterations",        "reml",
              "log_likelihood", "aic",  "deviance", "deviance_explained"};
  if (estimator.family == ManyFamily::nb) columns_.emplace_back("theta");
  if (estimator.family == ManyFamily::gaussian || estimator.family == ManyFamily::gamma)
    columns_.emplace_back("scale");
  columns_.emplace_back("edf");
  for (const CoefBlock& block : design.design.blocks) {
    if (block.penalty) columns_.push_back("edf:" + block.label);
  }
  for (const std::string& name : design.parameter_names) columns_.push_back("lambda:" + name);
  const std::vector<std::string> names = design.design.coef_names();
  columns_.insert(columns_.end(), names.begin(), names.end());
  for (const std::string& name : names) columns_.push_back("se:" + name);
  for (const CoefBlock& block : design.design.blocks) {
    if (block.penalty)
      tests_.push_back(block.label);
    else
      tests_.insert(tests_.end(), block.names.begin(), block.names.end());
  }
}

ResponseRow ResponseResults::row_of(const ResponseFit& fit, bool with_tests) const {
  ResponseRow row{.status = fit.status};
  row.p_values.assign(tests_.size(), none);
  row.values = {static_cast<double>(fit.rows), fit.mean, fit.zeros};
  if (!fit.is_fitted()) {
    row.values.resize(columns_.size(), none);
    if (fit.status == ManyStatus::failed) row.values[3] = fit.iterations;
    return row;
  }
  const Design& design = design_.design;
  const bool has_scale = estimator_.family == ManyFamily::gaussian || estimator_.family == ManyFamily::gamma;

  // In the coefficients of the formula.
  const std::vector<double> coef = multiply(design_.to_formula, fit.coef);
  RemlFit model;
  model.coef = multiply(design_.to_formula, fit.coef_of_tests);
  const Matrix inverse = unpacked(fit.inverse, design_.columns);
  const Matrix gram =
      multiply_tn(design_.from_formula, multiply(unpacked(fit.gram, design_.columns), design_.from_formula));
  const Matrix covariance = multiply_nt(multiply(design_.to_formula, inverse), design_.to_formula);
  for (int i = 0; i < gram.cols(); ++i) model.edf.push_back(dot(covariance.column(i), gram.column(i)));
  const double edf = std::accumulate(model.edf.begin(), model.edf.end(), 0.0);
  row.values.insert(row.values.end(), {static_cast<double>(fit.iterations), fit.criterion, fit.log_likelihood,
                                       2 * (edf + (has_scale ? 1 : 0)) - 2 * fit.log_likelihood, fit.deviance,
                                       1 - fit.deviance / fit.null_deviance});
  if (estimator_.family == ManyFamily::nb) row.values.push_back(fit.theta);
  if (has_scale) row.values.push_back(fit.scale);
  // Tests of zero variances have this in place of an infinite log smoothing parameter.
  constexpr double most_log_sp = 100;
  for (const SharedPenalty& penalty : design_.penalties)
    model.log_sp.push_back(std::min(
        most_log_sp, penalty.offset + (penalty.parameter < 0 ? 0 : fit.log_sp[at(penalty.parameter)])));
  model.inverse = covariance;
  model.covariance_scale = fit.scale;

  std::vector<bool> absent(at(design.coef_size));
  for (const int g : fit.absent) {
    for (const int column : design_.groups[at(g)].own_curve) {
      for (int i = 0; i < design.coef_size; ++i) {
        if (design_.to_formula(i, column) != 0) absent[at(i)] = true;
      }
    }
  }
  row.values.push_back(edf);
  const auto is_absent = [&](const CoefBlock& block) { return absent[at(block.coef_begin)]; };
  for (const CoefBlock& block : design.blocks) {
    if (!block.penalty) continue;
    const auto begin = model.edf.begin() + block.coef_begin;
    row.values.push_back(is_absent(block) ? none : std::accumulate(begin, begin + block.coef_size, 0.0));
  }
  for (const double log_sp : fit.log_sp) row.values.push_back(std::exp(log_sp));
  for (std::size_t i = 0; i < coef.size(); ++i) row.values.push_back(absent[i] ? none : coef[i]);
  for (std::size_t i = 0; i < coef.size(); ++i) {
    const auto j = static_cast<int>(i);
    row.values.push_back(absent[i] ? none : std::sqrt(fit.scale * covariance(j, j)));
  }
  if (fit.status != ManyStatus::converged || !with_tests) return row;
  const Matrix influence = multiply(covariance, gram);
  const Matrix transposed = transpose(influence);
  for (int i = 0; i < influence.cols(); ++i)
    model.edf1.push_back(2 * influence(i, i) - dot(transposed.column(i), influence.column(i)));
  const TermTests tests =
      test_terms(design, model, PartedMatrix(gram), has_scale, static_cast<double>(fit.rows) - edf);
  auto coefficient = tests.coefficients.begin();
  auto smooth = tests.smooths.begin();
  auto to = row.p_values.begin();
  for (const CoefBlock& block : design.blocks) {
    if (block.penalty) {
      *to++ = is_absent(block) ? none : smooth->p_value;
      ++smooth;
      continue;
    }
    for (int i = 0; i < block.coef_size; ++i) {
      *to++ = absent[at(block.coef_begin + i)] || covariance(block.coef_begin + i, block.coef_begin + i) == 0
                  ? none
                  : coefficient->p_value;
      ++coefficient;
    }
  }
  return row;
}

OutputColumn ResponseResults::name_column(const std::vector<std::string>& names, std::int64_t first,
                                          std::int64_t count) {
  OutputColumn column{.name = "response", .values = {}, .has_constant_levels = true};
  column.values.name = column.name;
  column.values.factor = true;
  column.values.levels = names;
  std::vector<std::int32_t> codes(at(count));
  std::iota(codes.begin(), codes.end(), static_cast<std::int32_t>(first));
  column.values.codes = std::move(codes);
  return column;
}

std::vector<OutputColumn> ResponseResults::columns(std::span<const ResponseRow> rows,
                                                   const std::vector<std::string>& names,
                                                   std::int64_t first) const {
  std::vector<OutputColumn> columns;
  columns.push_back(name_column(names, first, std::ssize(rows)));
  OutputColumn status{.name = "status", .values = {}, .has_constant_levels = true};
  status.values.name = status.name;
  status.values.factor = true;
  status.values.levels.assign(status_names.begin(), status_names.end());
  std::vector<std::int32_t> codes;
  for (const ResponseRow& row : rows) codes.push_back(static_cast<std::int32_t>(row.status));
  status.values.codes = std::move(codes);
  columns.push_back(std::move(status));
  std::vector<double> numbers(rows.size());
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    for (std::size_t i = 0; i < rows.size(); ++i) numbers[i] = rows[i].values[c];
    columns.push_back(number_column(columns_[c], numbers));
  }
  return columns;
}

}  // namespace TESSERA_NAMESPACE::gam
