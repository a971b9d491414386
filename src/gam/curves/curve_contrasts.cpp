// SPDX-License-Identifier: Apache-2.0
#include "gam/curves/curve_contrasts.hpp"

#include "base/at.hpp"
#include "base/did_you_mean.hpp"
#include "base/errors.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/model/model.hpp"

#include <tessera/gam/posterior.hpp>
#include <tessera/gam/predict.hpp>
#include <tessera/job/together.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

using base::at;

namespace {

struct TestedCurve {
  const CoefBlock* block;
  double start;
  double end;
  [[nodiscard]] const std::string& label() const { return block->label; }
  [[nodiscard]] bool has_by() const { return block->variables.size() > 1; }
  [[nodiscard]] const std::string& variable() const { return block->variables[0]; }
  /// The by variable and its level; the two curves of a pair must differ in one of these.
  [[nodiscard]] std::string by() const { return block->variables[1] + block->by_level; }
};

std::string listed_curves(const std::vector<TestedCurve>& curves) {
  std::string labels;
  for (const TestedCurve& curve : curves) labels += (labels.empty() ? "" : ", ") + curve.label();
  return labels.empty() ? "none" : labels;
}

/// The curves of a model, with the range of their data. If any curve has a by variable, omits curves without
/// one.
std::vector<TestedCurve> curves_of(const FittedModel& model) {
  std::vector<TestedCurve> curves;
  for (const CurveExtent& extent : model.outline.curves) {
    const auto block = std::ranges::find(model.design.blocks, extent.smooth, &CoefBlock::label);
    if (block != model.design.blocks.end()) curves.push_back({&*block, extent.least, extent.greatest});
  }
  if (std::ranges::any_of(curves, &TestedCurve::has_by))
    std::erase_if(curves, [](const TestedCurve& curve) { return !curve.has_by(); });
  return curves;
}

bool starts_with_own_data(const CurveTestOptions& options) {
  return options.test == CurveTest::pattern || options.test == CurveTest::condition;
}
bool starts_with_own_data(const CurveValueOptions& /*options*/) {
  return true;
}

std::vector<TestedCurve> chosen_curves(const FittedModel& model, const auto& options) {
  if (options.points != 0 && options.points < 2)
    throw base::usage_error("points is {}: give 2 or more", options.points);
  const std::vector<TestedCurve> all = curves_of(model);
  std::vector<TestedCurve> chosen = all;
  if (options.terms) {
    chosen.clear();
    for (const std::string& label : *options.terms) {
      const auto found = std::ranges::find(all, label, &TestedCurve::label);
      if (found == all.end())
        throw base::usage_error("the models have no curve '{}': they have {}", label, listed_curves(all));
      chosen.push_back(*found);
    }
  }
  if (chosen.empty())
    throw base::usage_error(
        "the models have no curve: fit again with a smooth of one numeric variable, for example s(t, by = "
        "lineage)");
  // The common start of all curves, which is 0 in tradeSeq. As in tradeSeq's patternTest and predictSmooth, a
  // curve begins at its own data if the data start later than 1 % of the curve's length.
  const double root = std::ranges::min(all, {}, &TestedCurve::start).start;
  constexpr double negligible = 0.01;
  for (TestedCurve& curve : chosen) {
    const bool from_own =
        starts_with_own_data(options) && !(curve.start - root < negligible * (curve.end - root));
    curve.start = std::max(root, options.start.value_or(from_own ? curve.start : root));
    curve.end = std::min(curve.end, options.end.value_or(curve.end));
    if (!(curve.start < curve.end))
      throw base::usage_error(
          "{} has no data between start and end: change start or end, or remove the curve from 'terms'",
          curve.label());
  }
  return chosen;
}

struct CurvePair {
  const TestedCurve& first;
  const TestedCurve& second;
  [[nodiscard]] std::string name() const { return first.label() + "-" + second.label(); }
};

std::vector<CurvePair> pairs_of(const std::vector<TestedCurve>& curves, CurveTest test) {
  const bool of_one_variable = test == CurveTest::condition;
  std::vector<CurvePair> pairs;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    for (std::size_t j = i + 1; j < curves.size(); ++j) {
      const CurvePair pair{curves[i], curves[j]};
      if (of_one_variable && pair.first.variable() != pair.second.variable()) continue;
      for (const TestedCurve* curve : {&pair.first, &pair.second}) {
        if (!curve->has_by())
          throw base::usage_error(
              "{} has no by variable, so the curves cannot be paired: name two curves in 'terms'",
              curve->label());
      }
      if (pair.first.by() == pair.second.by())
        throw base::usage_error(
            "{} and {} have the same by variable, so the test cannot compare them: name only one of them in "
            "'terms'",
            pair.first.label(), pair.second.label());
      pairs.push_back(pair);
    }
  }
  if (pairs.empty())
    throw base::usage_error("the test needs two curves{}, but the models have {}",
                            of_one_variable ? " of one variable" : "", listed_curves(curves));
  return pairs;
}

int points_of(const std::vector<TestedCurve>& curves, int given) {
  if (given > 0) return given;
  int most = 0;
  for (const TestedCurve& curve : curves)
    most = std::max(most, curve.block->coef_size + (curve.block->centred ? 1 : 0));
  return 2 * most;
}

/// Rows of the model matrix at points of a curve, transposed: coefficients x points. Other numeric by
/// variables are 0.
class CurveRows {
 public:
  CurveRows(Job& job, const Model& shared) : job_(job), shared_(shared) {
    for (const CoefBlock& block : shared.fitted().design.blocks) {
      if (block.is_smooth() && block.variables.size() > 1 && block.by_level.empty())
        numbers_.push_back(block.variables.back());
    }
  }

  [[nodiscard]] Matrix at_points(const TestedCurve& curve, const std::vector<double>& points) const {
    ChosenValues along{curve.block->variables[0], {}};
    for (const double point : points) along.values.push_back(fmt::format("{}", point));
    std::vector<ChosenValues> chosen{std::move(along)};
    if (!curve.block->by_level.empty())
      chosen.push_back({curve.block->variables[1], {curve.block->by_level}});
    const auto is_own = [&](const std::string& name) {
      return curve.has_by() && curve.block->by_level.empty() && name == curve.block->variables[1];
    };
    for (const std::string& name : numbers_) {
      if (std::ranges::find(chosen, name, &ChosenValues::column) == chosen.end())
        chosen.push_back({name, {is_own(name) ? "1" : "0"}});
    }
    const DataSlice slice = data_slice(job_, shared_, chosen);
    const Predictions rows = predict(job_, shared_, slice.table, {.type = PredictionType::lpmatrix});
    Matrix columns(static_cast<int>(rows.columns.size()), static_cast<int>(points.size()));
    for (int i = 0; i < columns.rows(); ++i) {
      const auto all = job_.comm().allgatherv(std::span<const double>(rows.columns[at(i)].values));
      for (int j = 0; j < columns.cols(); ++j) columns(i, j) = all[at(j)];
    }
    return columns;
  }

 private:
  Job& job_;
  const Model& shared_;
  std::vector<std::string> numbers_;  ///< numeric by variables
};

std::vector<double> spaced_points(const TestedCurve& curve, int points) {
  std::vector<double> values(at(points));
  for (int i = 0; i < points; ++i)
    values[at(i)] = i == points - 1 ? curve.end : curve.start + i * (curve.end - curve.start) / (points - 1);
  return values;
}

bool is_of_pairs(CurveTest test) {
  return test == CurveTest::diff_end || test == CurveTest::pattern || test == CurveTest::condition;
}

/// The points of a curve for tests other than `condition`.
std::vector<double> own_points(const TestedCurve& curve, int count, CurveTest test) {
  if (test == CurveTest::start_vs_end) return {curve.start, curve.end};
  if (test == CurveTest::diff_end) return {curve.end};
  return spaced_points(curve, count);
}

/// The points at which `condition` compares two curves of one variable. For cubic regression splines, whose
/// coefficients are values at the knots, these are the knots, as in tradeSeq.
std::vector<double> common_points(const CurvePair& pair, int count, const CurveTestOptions& options) {
  const CoefBlock& block = *pair.first.block;
  std::vector<double> points;
  if (block.kind == "cr" || block.kind == "cs") {
    for (const double knot : block.knots[0]) {
      if (knot >= options.start.value_or(knot) && knot <= options.end.value_or(knot)) points.push_back(knot);
    }
  } else {
    TestedCurve both = pair.first;
    both.start = std::max(both.start, pair.second.start);
    both.end = std::min(both.end, pair.second.end);
    if (both.start < both.end) points = spaced_points(both, count);
  }
  if (points.empty())
    throw base::usage_error("{} has no {}: change start or end", pair.name(),
                            block.kind.starts_with("c") ? "knot between start and end" : "common range");
  return points;
}

/// Throws `Error(usage)` for a contrast that is not estimable, i.e. not orthogonal to `undetermined`, which
/// spans the null space of the model matrix.
void require_estimable(const Matrix& contrasts, const std::vector<std::vector<double>>& undetermined,
                       const std::string& test) {
  constexpr double rounding = 1e-7;
  for (const std::vector<double>& change : undetermined) {
    for (int j = 0; j < contrasts.cols() && std::ssize(change) == contrasts.rows(); ++j) {
      const auto contrast = contrasts.column(j);
      if (std::abs(dot(contrast, change)) >
          rounding * std::sqrt(dot(contrast, contrast) * dot(change, change)))
        throw base::usage_error(
            "contrasts '{}': contrast {} is not estimable, because terms of the model have a function in "
            "common: give a contrast that does not depend on the common function",
            test, j + 1);
    }
  }
}

std::vector<CurveContrasts> given_contrasts(const FittedModel& model,
                                            const std::map<std::string, NamedContrasts>& given) {
  const std::vector<std::string> coefficients = model.design.coef_names();
  std::vector<CurveContrasts> parts;
  for (const auto& [test, contrasts] : given) {
    Matrix matrix(static_cast<int>(coefficients.size()), static_cast<int>(contrasts.size()));
    for (int j = 0; j < matrix.cols(); ++j) {
      for (const auto& [name, weight] : contrasts[at(j)]) {
        const auto found = std::ranges::find(coefficients, name);
        if (found == coefficients.end())
          throw base::usage_error("contrasts '{}': the models have no coefficient '{}'{}", test, name,
                                  base::names_like(coefficients, name));
        matrix(static_cast<int>(found - coefficients.begin()), j) = weight;
      }
    }
    if (std::ranges::all_of(matrix.values(), [](double weight) { return weight == 0; }))
      throw base::usage_error("contrasts '{}': all weights are 0: give at least one weight other than 0",
                              test);
    require_estimable(matrix, model.outline.undetermined, test);
    parts.push_back({test, std::move(matrix)});
  }
  return parts;
}

Matrix minus(Matrix a, const Matrix& b) {
  for (std::size_t i = 0; i < a.values().size(); ++i) a.values()[i] -= b.values()[i];
  return a;
}

Matrix minus_first(const Matrix& rows) {
  Matrix out(rows.rows(), rows.cols() - 1);
  for (int j = 0; j < out.cols(); ++j) {
    for (int i = 0; i < out.rows(); ++i) out(i, j) = rows(i, j + 1) - rows(i, 0);
  }
  return out;
}

}  // namespace

std::vector<CurveContrasts> curve_contrasts(Job& job, const Model& shared, const CurveTestOptions& options) {
  std::vector<CurveContrasts> parts;
  if (!options.contrasts.empty()) {
    together(job.comm(), [&] { parts = given_contrasts(shared.fitted(), options.contrasts); });
    return parts;
  }
  const CurveTest test = options.test;
  const bool of_pairs = is_of_pairs(test);
  std::vector<TestedCurve> curves;
  std::vector<CurvePair> pairs;
  std::vector<std::vector<double>> points;  // by pair for `condition`, otherwise by curve
  together(job.comm(), [&] {
    curves = chosen_curves(shared.fitted(), options);
    if (of_pairs) pairs = pairs_of(curves, test);
    const int count = points_of(curves, options.points);
    if (test == CurveTest::condition) {
      for (const CurvePair& pair : pairs) points.push_back(common_points(pair, count, options));
    } else {
      for (const TestedCurve& curve : curves) points.push_back(own_points(curve, count, test));
    }
  });
  const CurveRows rows(job, shared);
  if (test == CurveTest::condition) {
    for (std::size_t i = 0; i < pairs.size(); ++i)
      parts.push_back(
          {pairs[i].name(),
           minus(rows.at_points(pairs[i].first, points[i]), rows.at_points(pairs[i].second, points[i])),
           pairs[i].first.variable()});
    return parts;
  }
  std::vector<Matrix> of_curves;
  for (std::size_t i = 0; i < curves.size(); ++i) of_curves.push_back(rows.at_points(curves[i], points[i]));
  const auto place = [&](const TestedCurve& curve) { return at(&curve - curves.data()); };
  for (const CurvePair& pair : pairs)
    parts.push_back({pair.name(), minus(of_curves[place(pair.first)], of_curves[place(pair.second)])});
  for (std::size_t i = 0; !of_pairs && i < curves.size(); ++i)
    parts.push_back({curves[i].label(), minus_first(of_curves[i])});
  return parts;
}

std::vector<CurvePoints> curve_points(Job& job, const Model& shared, const CurveValueOptions& options) {
  std::vector<TestedCurve> curves;
  together(job.comm(), [&] { curves = chosen_curves(shared.fitted(), options); });
  const CurveRows rows(job, shared);
  std::vector<CurvePoints> all;
  for (const TestedCurve& curve : curves) {
    const std::vector<double> points = spaced_points(curve, points_of(curves, options.points));
    all.push_back({curve.label(), curve.variable(), points, rows.at_points(curve, points)});
  }
  return all;
}

}  // namespace TESSERA_NAMESPACE::gam
