// SPDX-License-Identifier: Apache-2.0
#include "gam/curves/curve_contrasts.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "gam/model/model.hpp"

#include <tessera/gam/posterior.hpp>
#include <tessera/gam/predict.hpp>
#include <tessera/job/together.hpp>

#include <fmt/format.h>

#include <algorithm>
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
  /// What only one curve of a pair may have: its by variable, and the level.
  [[nodiscard]] std::string by() const { return block->variables[1] + block->by_level; }
};

std::string listed_curves(const std::vector<TestedCurve>& curves) {
  std::string labels;
  for (const TestedCurve& curve : curves) labels += (labels.empty() ? "" : ", ") + curve.label();
  return labels.empty() ? "none" : labels;
}

/// The curves of a model, with the ends that they have in the data.
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
  return options.test == CurveTest::pattern;
}
bool starts_with_own_data(const CurveValueOptions& /*options*/) {
  return true;
}

std::vector<TestedCurve> chosen_curves(const FittedModel& model, const auto& options) {
  if (options.points != 0 && options.points < 2)
    throw base::usage_error("a curve has {} point: give two or more", options.points);
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
        "the models have no curve: fit again with a smooth of one number, such as s(t, by = lineage)");
  // The start of all curves, which is 0 in tradeSeq. Its patternTest and predictSmooth begin a curve with its
  // own data if these start later than at a hundredth of its length.
  const double root = std::ranges::min(all, {}, &TestedCurve::start).start;
  constexpr double negligible = 0.01;
  for (TestedCurve& curve : chosen) {
    const bool from_own =
        starts_with_own_data(options) && !(curve.start - root < negligible * (curve.end - root));
    curve.start = std::max(root, options.start.value_or(from_own ? curve.start : root));
    curve.end = std::min(curve.end, options.end.value_or(curve.end));
    if (!(curve.start < curve.end))
      throw base::usage_error("{} has no data between start and end: choose others, or leave the curve out",
                              curve.label());
  }
  return chosen;
}

void require_pairs(const std::vector<TestedCurve>& curves) {
  if (curves.size() < 2)
    throw base::usage_error("the test needs two curves, but the models have {}", listed_curves(curves));
  for (std::size_t i = 0; i < curves.size(); ++i) {
    if (!curves[i].has_by())
      throw base::usage_error("{} has no by variable, so it is no curve of its own: name two in terms",
                              curves[i].label());
    for (std::size_t j = 0; j < i; ++j) {
      if (curves[i].by() == curves[j].by())
        throw base::usage_error("{} and {} have one by variable: name one of them in terms",
                                curves[j].label(), curves[i].label());
    }
  }
}

int points_of(const std::vector<TestedCurve>& curves, int given) {
  if (given > 0) return given;
  int most = 0;
  for (const TestedCurve& curve : curves)
    most = std::max(most, curve.block->coef_size + (curve.block->centred ? 1 : 0));
  return 2 * most;
}

/// Rows of the model matrix on a curve, as columns: coefficients x points.
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

Matrix minus(Matrix a, const Matrix& b) {
  for (std::size_t i = 0; i < a.values().size(); ++i) a.values()[i] -= b.values()[i];
  return a;
}

/// All columns but the first, minus the first.
Matrix minus_first(const Matrix& rows) {
  Matrix out(rows.rows(), rows.cols() - 1);
  for (int j = 0; j < out.cols(); ++j) {
    for (int i = 0; i < out.rows(); ++i) out(i, j) = rows(i, j + 1) - rows(i, 0);
  }
  return out;
}

}  // namespace

std::vector<CurveContrasts> curve_contrasts(Job& job, const Model& shared, const CurveTestOptions& options) {
  std::vector<TestedCurve> curves;
  const bool of_pairs = options.test == CurveTest::diff_end || options.test == CurveTest::pattern;
  together(job.comm(), [&] {
    curves = chosen_curves(shared.fitted(), options);
    if (of_pairs) require_pairs(curves);
  });
  const int points = points_of(curves, options.points);
  const CurveRows rows(job, shared);
  std::vector<Matrix> of_curves;
  for (const TestedCurve& curve : curves) {
    switch (options.test) {
      case CurveTest::association:
        of_curves.push_back(minus_first(rows.at_points(curve, spaced_points(curve, points))));
        break;
      case CurveTest::start_vs_end:
        of_curves.push_back(minus_first(rows.at_points(curve, {curve.start, curve.end})));
        break;
      case CurveTest::diff_end: of_curves.push_back(rows.at_points(curve, {curve.end})); break;
      case CurveTest::pattern:
        of_curves.push_back(rows.at_points(curve, spaced_points(curve, points)));
        break;
    }
  }
  std::vector<CurveContrasts> parts;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    if (!of_pairs) parts.push_back({curves[i].label(), std::move(of_curves[i])});
    for (std::size_t j = i + 1; of_pairs && j < curves.size(); ++j)
      parts.push_back({curves[i].label() + "-" + curves[j].label(), minus(of_curves[i], of_curves[j])});
  }
  return parts;
}

std::vector<CurvePoints> curve_points(Job& job, const Model& shared, const CurveValueOptions& options) {
  std::vector<TestedCurve> curves;
  together(job.comm(), [&] { curves = chosen_curves(shared.fitted(), options); });
  const CurveRows rows(job, shared);
  std::vector<CurvePoints> all;
  for (const TestedCurve& curve : curves) {
    const std::vector<double> points = spaced_points(curve, points_of(curves, options.points));
    all.push_back({curve.label(), points, rows.at_points(curve, points)});
  }
  return all;
}

}  // namespace TESSERA_NAMESPACE::gam
