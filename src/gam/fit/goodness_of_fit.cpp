// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/goodness_of_fit.hpp"

#include "gam/fit/prepare_rows.hpp"
#include "gam/fit/starting_point.hpp"

#include <tessera/job/reproducible_sum.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera::gam {
namespace {

/// The deviance of a constant mean without offset.
RawDeviance null_deviance(const FitContext& fit, Rows rows) {
  Design constant;
  constant.terms.resize(1);
  constant.raw_size = 1;
  rows.design = &constant;
  rows.offsets.clear();
  RowPass pass(fit.job, fit.plan, rows);
  const RawMoments moments = fit.sums_of(pass, [&] { return pass.moments(); });
  const double predictor = predictor_of(rows.family, moments.mean_response());
  return fit.sums_of(pass, [&] { return pass.deviance(std::array{predictor}); });
}

/// Minus twice the log likelihood of a row, less the row's deviance over the scale: that of the saturated
/// model. For rows whose likelihood is of rounded counts it depends on their mean.
class SaturatedRow {
 public:
  SaturatedRow(const Rows& rows, const FittedModel& model)
      : rows_(rows),
        response_(numbers(rows.response)),
        weights_(rows.prior_weight < 0 ? nullptr : numbers(rows.prior_weight)),
        raw_coef_(model.design.raw_coefficients(model.coef)),
        scale_(rows.family.aic_scale(model.deviance, static_cast<double>(model.rows), model.scale)) {}

  [[nodiscard]] double scale() const noexcept { return scale_; }
  [[nodiscard]] double operator()(std::size_t row) const {
    const Family& family = rows_.family;
    const double y = response_[row];
    const double weight = weights_ == nullptr ? 1 : weights_[row];
    if (!family.likelihood_rounds(y, weight)) return family.minus_two_log_likelihood(y, y, weight, scale_);
    const double mu = family.mean(linear_predictor(rows_, row, raw_coef_));
    return family.minus_two_log_likelihood(y, mu, weight, scale_) - family.deviance(y, mu, weight) / scale_;
  }

 private:
  [[nodiscard]] const double* numbers(int variable) const {
    return rows_.frame->variables[static_cast<std::size_t>(variable)].numbers.data();
  }

  const Rows& rows_;
  const double* response_;
  const double* weights_;  ///< null: all ones
  std::vector<double> raw_coef_;
  double scale_;
};

}  // namespace

void measure_deviance(const FitContext& fit, RowPass& pass, const Rows& rows, FittedModel& model) {
  const RawDeviance left =
      fit.sums_of(pass, [&] { return pass.deviance(model.design.raw_coefficients(model.coef)); });
  const RawDeviance whole = null_deviance(fit, rows);
  model.deviance = left.deviance * deviance_unit(rows);
  model.null_deviance = whole.deviance * deviance_unit(rows);
  const auto n = static_cast<double>(model.rows);
  const auto sum_of_squares = [n](const RawDeviance& sums) {
    return sums.residual_square - sums.residual_sum * sums.residual_sum / n;
  };
  model.r_squared_adjusted = 1 - sum_of_squares(left) / sum_of_squares(whole) * (n - 1) / model.residual_df();
}

double akaike(const FitContext& fit, const Rows& rows, const FittedModel& model) {
  const SaturatedRow saturated(rows, model);
  const Frame& frame = *rows.frame;
  std::vector<ReproducibleSum> sums(static_cast<std::size_t>(fit.job.threads()), ReproducibleSum(1));
  fit.job.host_team().for_each_block(frame.rows, fit.plan.block(), [&](int thread, Range block) {
    double partial = 0;
    for (std::int64_t unit = block.begin; unit < block.end; ++unit) {
      const auto row = static_cast<std::size_t>(unit - frame.rows.begin);
      if (frame.complete[row] != 0) partial += saturated(row);
    }
    sums[static_cast<std::size_t>(thread)].add(std::span<const double>(&partial, 1));
  });
  ReproducibleSum& sum = sums.front();
  for (std::size_t i = 1; i < sums.size(); ++i) sum.merge(sums[i]);
  sum.allreduce(fit.job.comm());
  const double estimated = rows.family.scale_is_known() ? 0 : 1;
  return sum.values()[0] + model.deviance / saturated.scale() + 2 * (model.edf_total + estimated);
}

}  // namespace tessera::gam
