// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/pirls/goodness_of_fit.hpp"

#include "gam/data/frame/workers.hpp"
#include "gam/family/saturated_sum.hpp"
#include "gam/fit/pirls/pirls.hpp"
#include "gam/fit/pirls/prepare_rows.hpp"
#include "gam/fit/pirls/starting_point.hpp"
#include "gam/fit/pirls/step_halving.hpp"
#include "gam/fit/pirls/working_solver.hpp"
#include "gam/fit/run/block_sums.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/rows/row_reader.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

Design constant_design() {
  Design constant;
  constant.terms.resize(1);
  constant.raw_size = 1;
  return constant;
}

/// `rows` with the design `constant`, as independent rows without pairs of levels.
Rows rows_by(const Design& constant, Rows rows) {
  rows.design = &constant;
  rows.pairs = nullptr;
  rows.series = {};
  rows.further_offsets.clear();
  return rows;
}

struct NullFit {
  RawDeviance deviance;
  double weights = 0;  ///< sum of the prior weights
};

NullFit null_fit(const FitContext& fit, const Rows& of_model) {
  const Design constant = constant_design();
  Rows rows = rows_by(constant, of_model);
  rows.offsets.clear();
  RowPass pass(fit.job, fit.plan, rows);
  const RawMoments moments = fit.sums_of(pass, [&] { return pass.moments(); });
  const double predictor = predictor_of(rows.family, moments.mean_response());
  return {fit.sums_of(pass, [&] { return pass.deviance(std::array{predictor}); }), moments.sum_weight};
}

bool is_of_mean(const Rows& rows) {
  return rows.offsets.empty() && !rows.family.null_is_likeliest();
}

/// Finds the intercept that minimises the deviance, given the offset.
class InterceptSearch {
 public:
  InterceptSearch(const FitContext& fit, const Rows& rows)
      : fit_(fit), rows_(rows), pass_(fit.job, fit.plan, rows) {}

  /// The null model at the mean response if `of_mean`, else the null model of least deviance.
  NullModel run(bool of_mean) {
    const RawMoments moments = fit_.sums_of(pass_, [&] { return pass_.moments(); });
    const double mean = predictor_of(rows_.family, moments.mean_response());
    // For gaussian(identity), the mean of y - offset is the solution. An infinite `mean` fits no intercept.
    if (of_mean || rows_.family.linear() || std::isinf(mean)) return at(mean);
    if (!begin(mean)) return {mean, std::numeric_limits<double>::quiet_NaN()};
    constexpr int max_steps = 100;
    int steps = 0;
    while (steps < max_steps && advance()) ++steps;
    return at(intercept_);
  }

 private:
  NullModel at(double intercept) {
    return {intercept, fit_.sums_of(pass_, [&] { return pass_.deviance(std::array{intercept}); }).deviance};
  }

  [[nodiscard]] bool move_to(double intercept) {
    RawSums sums = fit_.sums_of(pass_, [&] { return pass_.step(std::array{intercept}); });
    if (!is_finite(sums)) return false;
    if (!sums_.gradient.empty() && is_rise(sums_.deviance, sums.deviance)) return false;
    sums_ = std::move(sums);
    intercept_ = intercept;
    return true;
  }

  /// Starts at the best of three intercepts: the predictor of the mean response minus 0, the least, or the
  /// greatest offset. With the last two all predictors have the sign of the mean's predictor, as some links
  /// need. False if all leave the family's range of means.
  bool begin(double mean) {
    bool begun = move_to(mean);
    if (rows_.offsets.empty()) return begun;
    const Extent offset = extent_of_offset({fit_.job.comm(), fit_.job.host_team()}, rows_);
    for (const double of_row : {offset.min, offset.max}) begun = move_to(mean - of_row) || begun;
    return begun;
  }

  /// A step, halved while it leaves the family's range or raises the deviance. False if no step helps.
  bool advance() {
    constexpr double longest_step = 2;
    constexpr double last_step = 1e-8;
    const double size = 1 + std::abs(intercept_);
    double step = std::clamp(sums_.gradient[0] / sums_.gram(0, 0), -longest_step * size, longest_step * size);
    for (; std::abs(step) > last_step * size; step /= 2) {
      if (move_to(intercept_ + step)) return true;
    }
    return false;
  }

  const FitContext& fit_;
  const Rows& rows_;
  RowPass pass_;
  double intercept_ = 0;
  RawSums sums_;
};

/// A thread's reader of rows, and its sum of saturated log likelihoods.
struct SaturatedReader {
  SaturatedReader(const Rows& of, double scale) : rows(of), saturated(of.family, scale) {}
  RowReader rows;
  SaturatedSum saturated;
};

double saturated_sum(const FitContext& fit, const Rows& rows, const FittedModel& model, double scale) {
  const Frame& frame = *rows.frame;
  if (rows.prior_weight < 0) {
    if (const auto each = rows.family.constant_saturated(scale))
      return *each * static_cast<double>(frame.complete_rows);
  }
  const auto numbers = [&](int variable, std::size_t begin, std::size_t end, std::vector<double>& copy) {
    if (variable < 0) return std::span<const double>();
    return frame.variables[static_cast<std::size_t>(variable)].numbers.rows(begin, end, copy);
  };
  const std::vector<double> raw_coef = rows.design->raw_coefficients(model.coef);
  return sums_over_blocks<SaturatedReader>(
      fit, rows, 1,
      [&](SaturatedReader& reader, std::size_t first, std::size_t last, std::span<double> sums) {
        std::vector<double> responses;
        std::vector<double> limits;
        std::vector<double> weights;
        for_each_complete_run(frame, first, last, [&](std::size_t begin, std::size_t end) {
          sums[0] = reader.saturated.add(
              sums[0], numbers(rows.response, begin, end, responses),
              numbers(rows.prior_weight, begin, end, weights),
              [&](std::size_t i) { return reader.rows.linear_predictor(begin + i, raw_coef); },
              numbers(rows.limit, begin, end, limits));
        });
      },
      rows, scale)[0];
}

}  // namespace

namespace {

/// Maximum likelihood estimates of constant predictors, by Newton's method with step halving.
std::vector<double> likeliest_constants(const FitContext& fit, const Rows& of_model,
                                        const RawMoments& moments) {
  const int predictors = of_model.family.predictor_count();
  std::vector<Design> each(static_cast<std::size_t>(predictors), constant_design());
  const Design constants = joined(std::move(each));
  const Rows rows = rows_by(constants, of_model);
  RowPass pass(fit.job, fit.plan, rows);
  std::vector<double> eta = rows.family.several()->first_predictors(level_of_response(moments));
  RawSums at = fit.sums_of(pass, [&] { return pass.step(eta); });
  constexpr int most_steps = 100;
  constexpr int most_halvings = 40;
  constexpr double accuracy = 1e-13;
  for (int step = 0; step < most_steps; ++step) {
    Matrix gradient(predictors, 1);
    std::ranges::copy(at.gradient, gradient.data());
    make_definite(at.gram.core);
    const auto direction = solve(at.gram.core, gradient);
    if (!direction) break;
    double share = 1;
    for (int halving = 0;; ++halving, share /= 2) {
      if (halving > most_halvings) return eta;
      std::vector<double> next = eta;
      add_multiple(next, share, direction->values());
      RawSums there = fit.sums_of(pass, [&] { return pass.step(next); });
      if (!is_finite(there) || there.deviance > at.deviance) continue;
      const double gain = at.deviance - there.deviance;
      eta = std::move(next);
      at = std::move(there);
      if (gain <= accuracy * std::abs(at.deviance)) return eta;
      break;
    }
  }
  return eta;
}

}  // namespace

void measure_several(const FitContext& fit, RowPass& pass, const Rows& rows, const RawMoments& moments,
                     FittedModel& model) {
  const SeveralFamily& family = *rows.family.several();
  const NullPredictors kind = family.null_predictors();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> null(static_cast<std::size_t>(family.predictors()), nan);
  if (kind == NullPredictors::constants || kind == NullPredictors::but_scale)
    null = likeliest_constants(fit, rows, moments);
  if (kind == NullPredictors::but_scale) null.back() = nan;
  if (kind == NullPredictors::mean) null[0] = family.predictor_of_mean(moments.mean_response());
  const std::vector<double> raw_coef = rows.design->raw_coefficients(model.coef);
  const RawGoodness at_end = fit.sums_of(pass, [&] { return pass.goodness(raw_coef, null); });
  model.aic = at_end.minus_two_log_likelihood + 2 * model.edf_total;
  model.r_squared_adjusted = nan;
  model.deviance = at_end.deviance;
  model.null_deviance = kind == NullPredictors::none ? nan : at_end.null_deviance;
}

NullModel null_model(const FitContext& fit, const Rows& of_model) {
  const Design constant = constant_design();
  const Rows rows = rows_by(constant, of_model);
  return InterceptSearch(fit, rows).run(is_of_mean(of_model));
}

RawMoments response_moments(const FitContext& fit, const Rows& of_model) {
  const Design constant = constant_design();
  const Rows rows = rows_by(constant, of_model);
  RowPass pass(fit.job, fit.plan, rows);
  return fit.sums_of(pass, [&] { return pass.moments(); });
}

double measure_deviance(const FitContext& fit, RowPass& pass, const Rows& rows, const KnownDeviances& known,
                        FittedModel& model) {
  const RawDeviance left = known.left ? *known.left : fit.sums_of(pass, [&] {
    return pass.deviance(rows.design->raw_coefficients(model.coef));
  });
  const NullFit whole =
      known.null ? NullFit{*known.null, static_cast<double>(model.rows)} : null_fit(fit, rows);
  model.deviance = left.deviance * deviance_unit(rows);
  const double null_deviance = is_of_mean(rows) ? whole.deviance.deviance : null_model(fit, rows).deviance;
  model.null_deviance = null_deviance * deviance_unit(rows);
  if (rows.family.deviance_lacks_saturated()) {
    const double saturated = saturated_sum(fit, rows, model, 1);
    model.deviance -= saturated;
    model.null_deviance -= saturated;
  }
  const double weights = whole.weights / rows.prior_factor;
  if (rows.family.has_outputs()) {
    model.r_squared_adjusted = std::numeric_limits<double>::quiet_NaN();
    return weights;
  }
  const auto n = static_cast<double>(model.rows);
  const auto sum_of_squares = [n](const RawDeviance& sums) {
    return sums.residual_square - sums.residual_sum * sums.residual_sum / n;
  };
  model.r_squared_adjusted =
      1 - sum_of_squares(left) / sum_of_squares(whole.deviance) * (n - 1) / model.residual_df();
  return weights;
}

double akaike(const FitContext& fit, const Rows& rows, const FittedModel& model, double weights,
              double misfit) {
  const double scale = rows.family.aic_scale(misfit, static_cast<double>(model.rows), model.scale);
  const double estimated = rows.family.scale_is_known() ? 0 : 1;
  return saturated_sum(fit, rows, model, scale) + rows.family.aic_misfit(misfit, weights, scale) +
         2 * (model.edf_total + estimated) - 2 * rows.series.log_determinant_in_aic(model.rows);
}

}  // namespace TESSERA_NAMESPACE::gam
