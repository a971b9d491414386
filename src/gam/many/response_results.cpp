// SPDX-License-Identifier: Apache-2.0
#include "gam/many/response_results.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "base/math/elementary.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"
#include "gam/many/active_columns.hpp"
#include "gam/predict/prediction_plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

using base::at;

namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

/// Names of combinations of limits; the index is a sum of these flags.
constexpr int linear = 1;
constexpr int poisson = 2;
constexpr int level_absent = 4;
constexpr std::array<const char*, 8> limit_names = {"none",
                                                    "linear",
                                                    "poisson",
                                                    "linear,poisson",
                                                    "level_absent",
                                                    "linear,level_absent",
                                                    "poisson,level_absent",
                                                    "linear,poisson,level_absent"};
/// By `ManyReason`.
constexpr std::array<const char*, 6> reason_names = {"none",
                                                     "no coefficients at the start",
                                                     "no step lowers the criterion",
                                                     "60 iterations are used up",
                                                     "no coefficients at the end",
                                                     "the covariance is singular"};
constexpr std::array<const char*, 2> cpu_or_gpu = {"cpu", "gpu"};

/// A column of strings. `index_of(row)` is an index in `texts`; negative: missing.
template <std::size_t Count, class Text, class Index>
OutputColumn text_column(const char* name, const std::array<Text, Count>& texts,
                         std::span<const ResponseRow> rows, const Index& index_of) {
  OutputColumn column{.name = name, .values = {}, .has_constant_levels = true};
  column.values.name = name;
  column.values.factor = true;
  column.values.levels.assign(texts.begin(), texts.end());
  std::vector<std::int32_t> codes;
  for (const ResponseRow& row : rows) codes.push_back(static_cast<std::int32_t>(index_of(row)));
  column.values.codes = std::move(codes);
  return column;
}

Matrix symmetric_unpacked(std::span<const double> packed, int size) {
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

ResponseResults::ResponseResults(const SharedDesign& design, const FittedModel& model,
                                 const ManyEstimator& estimator, const ManyOptions& options)
    : design_(design), estimator_(estimator) {
  columns_ = {"rows",           "mean", "zeros",    "iterations",        "reml",
              "log_likelihood", "aic",  "deviance", "deviance_explained"};
  if (estimator.family == ManyFamily::nb) columns_.emplace_back("theta");
  if (estimator.has_scale()) columns_.emplace_back("scale");
  columns_.emplace_back("edf");
  for (const CoefBlock& block : design.design.blocks) {
    if (block.penalty) columns_.push_back("edf:" + block.label);
  }
  for (const std::string& name : design.parameter_names) columns_.push_back("lambda:" + name);
  const std::vector<std::string> names = design.design.coef_names();
  columns_.insert(columns_.end(), names.begin(), names.end());
  for (const std::string& name : names) columns_.push_back("se:" + name);
  for (const std::string& term : options.drop) columns_.push_back("partial_r2:" + term);
  for (const CoefBlock& block : design.design.blocks) {
    if (!block.penalty) tests_.insert(tests_.end(), block.names.begin(), block.names.end());
  }
  list_joint_terms(model);
  for (const JointTerm& term : joint_terms_) tests_.push_back(term.label);
  for (const CoefBlock& block : design.design.blocks) {
    if (block.penalty) tests_.push_back(block.label);
  }
  const int size = design.design.coef_size;
  if (options.covariances && size > 0) {
    covariances_ = true;
    matrices_ = {{ManyDatasets::covariance, packed_size(size)}, {ManyDatasets::edf, size}};
    if (design.parameters > 0) matrices_.push_back({ManyDatasets::log_lambda, design.parameters});
  }
  const auto has_curve = [](const RowGroup& group) { return !group.own_curve.empty(); };
  absent_curves_ = estimator.family != ManyFamily::gaussian && estimator.family != ManyFamily::gamma &&
                   std::ranges::any_of(design.groups, has_curve);
  if (absent_curves_) {
    matrices_.push_back({ManyDatasets::predictor, size});
    matrices_.push_back({ManyDatasets::absent_rows, size});
  }
  const auto is_smooth = [](const CoefBlock& block) { return block.penalty.has_value(); };
  const auto smooths = std::ranges::count_if(design.design.blocks, is_smooth);
  if (covariances_ && smooths > 0)
    matrices_.push_back({ManyDatasets::smooth_tests, 3 * static_cast<int>(smooths)});
}

/// Lists the parametric terms with several coefficients; other parametric terms need no joint test.
void ResponseResults::list_joint_terms(const FittedModel& model) {
  for (const ModelTerm& term : terms_of(model, parse_terms(model.formula))) {
    if (term.smooth) continue;
    JointTerm joint{.label = term.label, .coefficients = {}};
    for (const int b : term.blocks) {
      const CoefBlock& block = design_.design.blocks[at(b)];
      for (int i = 0; i < block.coef_size; ++i) joint.coefficients.push_back(block.coef_begin + i);
    }
    if (joint.coefficients.size() > 1) joint_terms_.push_back(std::move(joint));
  }
}

void ResponseResults::add_matrices(const ResponseFit& fit, const RemlFit& model,
                                   const std::vector<double>& coef, ResponseRow& row) const {
  if (covariances_) {
    const Matrix& covariance = model.inverse.core;
    for (int i = 0; i < covariance.rows(); ++i) {
      for (int j = i; j < covariance.cols(); ++j) row.matrices.push_back(fit.scale * covariance(i, j));
    }
    row.matrices.insert(row.matrices.end(), model.edf.begin(), model.edf.end());
    row.matrices.insert(row.matrices.end(), fit.log_sp_of_tests.begin(), fit.log_sp_of_tests.end());
  }
  if (!absent_curves_) return;
  row.matrices.insert(row.matrices.end(), coef.begin(), coef.end());
  std::vector<double> rows(coef.size());
  for (const int g : fit.absent) add_multiple(rows, 1, design_.groups[at(g)].own_constant);
  row.matrices.insert(row.matrices.end(), rows.begin(), rows.end());
}

ResponseRow ResponseResults::row_of(const ResponseFit& fit, bool with_tests,
                                    std::span<const double> deviances) const {
  ResponseRow row{.status = fit.status, .reason = fit.reason};
  row.p_values.assign(tests_.size(), no_number);
  row.values = {static_cast<double>(fit.rows), fit.mean, fit.zeros};
  if (!fit.is_fitted()) {
    row.values.resize(columns_.size(), no_number);
    row.matrices.assign(size_of_matrices(), no_number);
    if (fit.status == ManyStatus::failed) row.values[3] = fit.iterations;
    return row;
  }
  const Design& design = design_.design;
  const bool has_scale = estimator_.has_scale();

  const std::vector<double> coef = multiply(design_.to_formula, fit.coef);
  RemlFit model;
  model.coef = multiply(design_.to_formula, fit.coef_of_tests);
  const Matrix inverse = symmetric_unpacked(fit.inverse, design_.columns);
  const Matrix gram = multiply_tn(
      design_.from_formula, multiply(symmetric_unpacked(fit.gram, design_.columns), design_.from_formula));
  const Matrix covariance = multiply_nt(multiply(design_.to_formula, inverse), design_.to_formula);
  for (int i = 0; i < gram.cols(); ++i) model.edf.push_back(dot(covariance.column(i), gram.column(i)));
  const double edf = std::accumulate(model.edf.begin(), model.edf.end(), 0.0);
  row.values.insert(row.values.end(), {static_cast<double>(fit.iterations), fit.criterion, fit.log_likelihood,
                                       2 * (edf + (has_scale ? 1 : 0)) - 2 * fit.log_likelihood, fit.deviance,
                                       1 - fit.deviance / fit.null_deviance});
  if (estimator_.family == ManyFamily::nb) row.values.push_back(fit.theta);
  if (has_scale) row.values.push_back(fit.scale);
  // Replaces an infinite log smoothing parameter in tests of zero variances.
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
  const bool any_linear = std::ranges::find(fit.log_sp, infinite) != fit.log_sp.end();
  row.limits = (any_linear ? linear : 0) + (std::isinf(fit.theta) ? poisson : 0) +
               (fit.absent.empty() ? 0 : level_absent);
  add_matrices(fit, model, coef, row);
  row.values.push_back(edf);
  const auto is_absent = [&](const CoefBlock& block) { return absent[at(block.coef_begin)]; };
  for (const CoefBlock& block : design.blocks) {
    if (!block.penalty) continue;
    const auto begin = model.edf.begin() + block.coef_begin;
    row.values.push_back(is_absent(block) ? no_number : std::accumulate(begin, begin + block.coef_size, 0.0));
  }
  for (const double log_sp : fit.log_sp) row.values.push_back(base::exp(log_sp));
  for (std::size_t i = 0; i < coef.size(); ++i) row.values.push_back(absent[i] ? no_number : coef[i]);
  for (std::size_t i = 0; i < coef.size(); ++i) {
    const auto j = static_cast<int>(i);
    row.values.push_back(absent[i] ? no_number : std::sqrt(fit.scale * covariance(j, j)));
  }
  for (const double deviance : deviances) row.values.push_back(1 - fit.deviance / deviance);
  if (fit.status != ManyStatus::converged || !(with_tests || covariances_)) {
    row.matrices.resize(size_of_matrices(), no_number);
    return row;
  }
  const Matrix influence = multiply(covariance, gram);
  const Matrix transposed = transpose(influence);
  for (int i = 0; i < influence.cols(); ++i)
    model.edf1.push_back(2 * influence(i, i) - dot(transposed.column(i), influence.column(i)));
  const TermTests tests =
      test_terms(design, model, PartedMatrix(gram), has_scale, static_cast<double>(fit.rows) - edf);
  auto coefficient = tests.coefficients.begin();
  auto smooth = tests.smooths.begin();
  auto to = row.p_values.begin();
  const auto is_tested = [&](int i) { return !absent[at(i)] && covariance(i, i) != 0; };
  for (const CoefBlock& block : design.blocks) {
    for (int i = 0; !block.penalty && i < block.coef_size; ++i, ++coefficient)
      *to++ = is_tested(block.coef_begin + i) ? coefficient->p_value : no_number;
  }
  for (const JointTerm& term : joint_terms_) {
    std::vector<int> tested;
    std::ranges::copy_if(term.coefficients, std::back_inserter(tested), is_tested);
    std::vector<double> own;
    for (const int i : tested) own.push_back(model.coef[at(i)]);
    Matrix scaled = submatrix(covariance, tested, tested);
    for (double& value : scaled.values()) value *= fit.scale;
    *to++ = tested.empty()
                ? no_number
                : test_jointly(scaled, own, has_scale, static_cast<double>(fit.rows) - edf).p_value;
  }
  for (const CoefBlock& block : design.blocks) {
    if (!block.penalty) continue;
    *to++ = is_absent(block) ? no_number : smooth->p_value;
    if (covariances_) {
      for (const double number : {smooth->reference_df, smooth->statistic, smooth->p_value})
        row.matrices.push_back(is_absent(block) ? no_number : number);
    }
    ++smooth;
  }
  return row;
}

std::size_t ResponseResults::size_of_matrices() const {
  std::size_t size = 0;
  for (const NamedMatrix& one : matrices_) size += at(one.width);
  return size;
}

std::size_t ResponseResults::row_size() const {
  return 4 + columns_.size() + tests_.size() + size_of_matrices();
}

std::vector<double> ResponseResults::numbers_of(const ResponseRow& row) const {
  std::vector<double> numbers{static_cast<double>(row.status), static_cast<double>(row.reason),
                              static_cast<double>(row.limits), row.on_device ? 1.0 : 0.0};
  for (const std::vector<double>* const part : {&row.values, &row.p_values, &row.matrices})
    numbers.insert(numbers.end(), part->begin(), part->end());
  return numbers;
}

ResponseRow ResponseResults::row_from(std::span<const double> numbers) const {
  const auto index = [&](std::size_t place, int least, std::size_t count) {
    if (!(numbers[place] >= least && numbers[place] < static_cast<double>(count)))
      throw base::input_error("a batch of the checkpoint has an impossible result: remove the checkpoint");
    return static_cast<int>(numbers[place]);
  };
  ResponseRow row{.status = static_cast<ManyStatus>(index(0, 0, status_names.size())),
                  .reason = static_cast<ManyReason>(index(1, 0, reason_names.size())),
                  .limits = index(2, -1, limit_names.size()),
                  .on_device = numbers[3] != 0};
  auto next = numbers.begin() + 4;
  for (auto [part, count] :
       {std::pair(&row.values, columns_.size()), std::pair(&row.p_values, tests_.size())}) {
    part->assign(next, next + static_cast<std::ptrdiff_t>(count));
    next += static_cast<std::ptrdiff_t>(count);
  }
  row.matrices.assign(next, numbers.end());
  return row;
}

std::vector<OutputMatrix> ResponseResults::matrices(std::span<const ResponseRow> rows) const {
  std::vector<OutputMatrix> matrices;
  std::ptrdiff_t begin = 0;
  for (const NamedMatrix& one : matrices_) {
    OutputMatrix matrix{.name = one.name, .width = one.width, .values = {}};
    for (const ResponseRow& row : rows) {
      const auto from = row.matrices.begin() + begin;
      matrix.values.insert(matrix.values.end(), from, from + one.width);
    }
    begin += one.width;
    matrices.push_back(std::move(matrix));
  }
  return matrices;
}

NameColumn::NameColumn(std::vector<std::string> names)
    : names_{.name = "response", .values = {}, .has_constant_levels = true} {
  names_.values.name = names_.name;
  names_.values.factor = true;
  names_.values.levels = std::move(names);
}

void NameColumn::write_with(Range responses, std::vector<OutputColumn> columns,
                            FunctionRef<void(std::span<const OutputColumn>)> use) {
  std::vector<std::int32_t> codes(at(responses.size()));
  std::iota(codes.begin(), codes.end(), static_cast<std::int32_t>(responses.begin));
  names_.values.codes = std::move(codes);
  columns.insert(columns.begin(), std::move(names_));
  use(columns);
  names_ = std::move(columns.front());
}

std::vector<OutputColumn> ResponseResults::columns(std::span<const ResponseRow> rows) const {
  std::vector<OutputColumn> columns;
  columns.push_back(text_column("status", status_names, rows,
                                [](const ResponseRow& row) { return static_cast<int>(row.status); }));
  columns.push_back(
      text_column("limits", limit_names, rows, [](const ResponseRow& row) { return row.limits; }));
  columns.push_back(text_column("reason", reason_names, rows, [](const ResponseRow& row) {
    return row.reason == ManyReason::none ? -1 : static_cast<int>(row.reason);
  }));
  columns.push_back(text_column("computed_on", cpu_or_gpu, rows,
                                [](const ResponseRow& row) { return row.on_device ? 1 : 0; }));
  std::vector<double> numbers(rows.size());
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    for (std::size_t i = 0; i < rows.size(); ++i) numbers[i] = rows[i].values[c];
    columns.push_back(number_column(columns_[c], numbers));
  }
  return columns;
}

}  // namespace TESSERA_NAMESPACE::gam
