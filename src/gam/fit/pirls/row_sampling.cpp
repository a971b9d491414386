// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/pirls/row_sampling.hpp"

#include "gam/fit/pirls/pirls.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Has no factor in common with the usual periods of tables.
constexpr int usual_stride = 17;
constexpr std::int64_t least_rows = 5000;
constexpr std::int64_t least_rows_of_coefficient = 20;
/// Steps on the sample end at this length: the sample's solution is no closer to that of all rows.
constexpr double short_step_on_sample = 0.05;
constexpr int most_steps_on_sample = 10;
/// Largest excess of the deviance of all rows over the sample's prediction: in units of scale times edf (2
/// are expected), and relative to the deviance.
constexpr double most_optimism = 10;
constexpr double most_excess = 0.1;

}  // namespace

int stride_of_sample(const FitContext& fit, const Rows& rows) {
  const std::int64_t sampled = rows.frame->complete_rows / usual_stride;
  const bool may_be_sampled = !rows.family.linear() && !rows.family.predictors().any() &&
                              !rows.series.correlated() && !fit.plan.on_devices();
  return may_be_sampled && sampled >= least_rows &&
                 sampled >= least_rows_of_coefficient * rows.design->coef_size
             ? usual_stride
             : 1;
}

/// Takes the first steps on a sample of the rows. Returns false if there is no sample, or if it does not
/// represent the other rows, for example because it lacks a level.
bool PirlsLoop::starts_from_sample() {
  const int stride = stride_of_sample(fit_, rows_);
  if (stride == 1) return false;
  const std::span<const double> given = rows_.family.parameters();
  const std::vector<double> parameters(given.begin(), given.end());
  const std::int64_t rows = std::exchange(row_count_, row_count_ / stride);
  fit_.observer.now(fmt::format("starting from a sample of {} rows", row_count_));
  bool succeeds = iterate_on_sample(stride);
  row_count_ = rows;
  course_ = {};
  if (succeeds) {
    const double predicted = stride * sums_.deviance;
    const double scale = end_.solution.scale;
    const double excess = most_excess * (std::abs(predicted) + scale * static_cast<double>(rows)) +
                          most_optimism * stride * scale * end_.solution.edf_total;
    sums_ = sums_at(end_.coef);
    succeeds = is_finite(sums_) && sums_.deviance < predicted + excess;
  }
  course_.from_sample = succeeds;
  if (succeeds) return true;
  fit_.observer.now("starting again: the sample does not represent the other rows");
  end_ = {};
  set_parameters(parameters);
  return false;
}

/// Whether all steps on the sample have finite ends.
bool PirlsLoop::iterate_on_sample(int stride) {
  const RowSampling sampling(pass_, stride);
  try {
    begin({});
    for (int step = 1; is_finite(sums_) && step <= most_steps_on_sample; ++step) {
      deviance_ = sums_.deviance;
      std::vector<double> start = end_.coef;
      const int held = held_predictor(step);
      solve(Search::local, held);
      go_to_end_of_step(std::move(start), step == 1);
      if (!is_finite(sums_)) return false;
      move_parameters();
      const double before = std::exchange(course_.step, end_.solution.step);
      if (held < 0 && next_step(before) < short_step_on_sample) break;
    }
    return is_finite(sums_);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_converged && error.code() != ErrorCode::input) throw;
    return false;
  }
}

}  // namespace TESSERA_NAMESPACE::gam
