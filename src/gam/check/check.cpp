// SPDX-License-Identifier: Apache-2.0
#include "base/at.hpp"
#include "base/cancellation.hpp"
#include "base/errors.hpp"
#include "gam/check/basis_check.hpp"
#include "gam/check/check_rows.hpp"
#include "gam/check/concurvity.hpp"
#include "gam/check/row_triangle.hpp"
#include "gam/data/frame/extents.hpp"
#include "gam/data/frame/sampled_rows.hpp"
#include "gam/data/table_source.hpp"
#include "gam/family/response_distribution.hpp"
#include "gam/fit/pirls/serial_residuals.hpp"
#include "gam/fit/run/block_sums.hpp"
#include "gam/fit/run/fit_context.hpp"
#include "gam/inference/distributions.hpp"
#include "gam/model/model.hpp"
#include "gam/rows/row_residuals.hpp"

#include <tessera/error.hpp>
#include <tessera/gam/check.hpp>
#include <tessera/job/together.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>

#include "base/hash.hpp"
#include "base/quantile.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

class TableCheck {
 public:
  /// *Collective.*
  TableCheck(Job& job, const ModelRows& rows, const CheckOptions& options, FitObserver& observer)
      : job_(job), data_(rows), options_(options), observer_(observer) {
    together(job.comm(), [&] {
      columns_ = reindexed(model_.design, frame_);
      if (!options_.series.empty()) group_ = frame_.index_of(column_expression(options_.series).text);
    });
    unit_ = 1 / std::sqrt(rows_.prior_factor) / rows_.response_factor;
  }

  [[nodiscard]] Check run() {
    Check out;
    out.rows = frame_.complete_rows;
    summarise(out);
    check_sample(out);
    measure_concurvity(out);
    if (options_.lags > 0) {
      say_pass("the autocorrelation of residuals");
      out.autocorrelation =
          serial_residuals(context(), rows_, data_.raw_coef(), options_.lags, group_).autocorrelation;
    }
    return job_.comm().rank() == 0 ? out : Check();
  }

 private:
  /// Indices of the sums over rows; first to fourth are powers of the deviance residual.
  enum Sum { count, first, second, third, fourth, pearson, zeros, expected_zeros, zero_variance, sum_count };

  [[nodiscard]] Workers workers() const { return {job_.comm(), job_.host_team()}; }
  [[nodiscard]] FitContext context() {
    return {.job = job_,
            .plan = data_.plan(),
            .formula = data_.formula(),
            .options = data_.options(),
            .observer = observer_,
            .phases = phases_};
  }
  void say_pass(std::string_view what) {
    observer_.note(fmt::format("pass {} over the rows: {}", ++passes_, what));
  }

  [[nodiscard]] double number(int variable, std::size_t row) const {
    return frame_.variables[at(variable)].numbers[row];
  }

  void summarise(Check& out) {
    say_pass("residuals");
    const std::optional<ResponseDistribution> distribution =
        rows_.prior_weight < 0 && distribution_ && !std::isnan(distribution_->probability_of_zero(1))
            ? distribution_
            : std::nullopt;
    std::mutex mutex;
    std::array<Extent, 1> extent;
    const std::vector<double> sums = sums_over_blocks<RowResiduals>(
        context(), rows_, sum_count,
        [&](RowResiduals& residuals, std::size_t begin, std::size_t end, std::span<double> to) {
          Extent own;
          for (std::size_t row = begin; row < end; ++row) {
            if (frame_.complete[row] == 0) continue;
            add_row(residuals.of(row), row, distribution ? &*distribution : nullptr, to, own);
          }
          const std::lock_guard lock(mutex);
          extent[0].add(own);
        },
        rows_, data_.raw_coef());
    unite(job_.comm(), extent);
    const double n = sums[count];
    const double mean = sums[first] / n;
    const double square = sums[second] / n - mean * mean;
    ResidualSummary& summary = out.residuals;
    summary.mean = mean;
    summary.deviation = std::sqrt(square * n / (n - 1));
    summary.skewness =
        (sums[third] / n - 3 * mean * sums[second] / n + 2 * mean * mean * mean) / std::pow(square, 1.5);
    summary.kurtosis = (sums[fourth] / n - 4 * mean * sums[third] / n + 6 * mean * mean * sums[second] / n -
                        3 * mean * mean * mean * mean) /
                       (square * square);
    summary.least = extent[0].min;
    summary.largest = extent[0].max;
    const double df = model_.residual_df();
    out.deviance_dispersion = sums[second] / df;
    // NaN for a family without a variance function.
    out.pearson_dispersion = sums[pearson] / df;
    if (distribution) out.zeros = {sums[zeros], sums[expected_zeros], std::sqrt(sums[zero_variance])};
  }

  /// Adds a row to the sums. Deviance residuals are in the user's units.
  void add_row(const RowResiduals::Residual& residual, std::size_t row, const ResponseDistribution* zero,
               std::span<double> sums, Extent& extent) const {
    const double d = residual.deviance * unit_;
    extent.add(d);
    sums[count] += 1;
    sums[first] += d;
    sums[second] += d * d;
    sums[third] += d * d * d;
    sums[fourth] += d * d * d * d;
    const double prior = rows_.prior_weight < 0 ? 1 : rows_.prior_factor * number(rows_.prior_weight, row);
    if (const SeveralFamily* several = model_.family.several()) {
      const ResponseLevel level = several->level(residual.linear_predictors);
      const double pearson_residual = (number(rows_.response, row) - level.mean) / level.deviation;
      if (!(level.deviation <= 0)) sums[pearson] += prior * pearson_residual * pearson_residual;
      return;
    }
    const double mean = model_.family.mean(residual.linear_predictors[0]);
    const double difference = rows_.response_factor * number(rows_.response, row) - mean;
    const double variance = model_.family.variance(mean);
    // Skips a mean that was rounded to the end of its range, where the variance is 0.
    if (!(variance <= 0)) sums[pearson] += prior * difference * difference / variance * unit_ * unit_;
    if (zero == nullptr) return;
    const double probability = zero->probability_of_zero(mean);
    sums[zeros] += number(rows_.response, row) == 0 ? 1 : 0;
    sums[expected_zeros] += probability;
    sums[zero_variance] += probability * (1 - probability);
  }

  /// Empty for a quasi family, which has no distribution.
  [[nodiscard]] static std::optional<ResponseDistribution> distribution_of(const FittedModel& model) {
    try {
      return ResponseDistribution(model.family, model.scale);
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  /// The randomised quantile residual; NaN if the row's distribution is unknown.
  [[nodiscard]] double quantile_residual(const RowResiduals::Residual& residual, std::size_t row,
                                         std::uint64_t seed) const {
    const double y = number(rows_.response, row);
    const double weight = rows_.prior_weight < 0 ? 1 : number(rows_.prior_weight, row);
    constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    ResponseProbabilities of{unknown, unknown};
    if (const SeveralFamily* several = model_.family.several()) {
      if (weight == 1) of = several->probabilities(y, residual.linear_predictors);
    } else if (distribution_) {
      const double mean = model_.family.mean(residual.linear_predictors[0]) / rows_.response_factor;
      of = distribution_->probabilities(response_of(rows_, row), mean, weight);
    }
    return gam::quantile_residual(
        of, base::split_mix(static_cast<std::uint64_t>(frame_.rows.begin) + row + seed));
  }

  [[nodiscard]] static QuantileResiduals with_band(std::vector<double> residuals) {
    QuantileResiduals out;
    std::erase_if(residuals, [](double one) { return std::isnan(one); });
    std::ranges::sort(residuals);
    const auto n = static_cast<double>(residuals.size());
    for (std::size_t place = 1; place <= residuals.size(); ++place) {
      constexpr double outside = 0.05;
      base::check_cancelled();
      const auto i = static_cast<double>(place);
      out.normal.push_back(normal_quantile((i - 0.5) / n));
      out.lower.push_back(normal_quantile(beta_quantile(outside / 2, i, n + 1 - i)));
      out.upper.push_back(normal_quantile(beta_quantile(1 - outside / 2, i, n + 1 - i)));
    }
    out.residuals = std::move(residuals);
    return out;
  }

  /// *Collective.* Gathers a sample of rows on rank 0, which computes quartiles, quantile residuals and basis
  /// checks.
  void check_sample(Check& out) {
    observer_.now("checking the dimensions of bases");
    const std::uint64_t seed = base::split_mix(options_.seed);
    const std::vector<std::int64_t> sample = local_sample(workers(), frame_, options_.largest_sample, seed);
    const std::size_t width = frame_.variables.size() + 2;
    std::vector<double> mine;
    std::vector<std::size_t> counts(at(job_.comm().size()), 0);
    together(job_.comm(), [&] {
      RowResiduals residuals(rows_, data_.raw_coef());
      for (const std::int64_t row : sample) {
        base::check_cancelled();
        const RowResiduals::Residual one = residuals.of(at(row));
        mine.push_back(one.deviance * unit_);
        mine.push_back(quantile_residual(one, at(row), seed));
        for (const Variable& variable : frame_.variables)
          mine.push_back(variable.factor ? variable.codes[at(row)] : variable.numbers[at(row)]);
      }
      counts[0] = mine.size();
    });
    const std::vector<double> all = job_.comm().alltoallv(std::span<const double>(mine), counts);
    together(job_.comm(), [&] {
      if (job_.comm().rank() != 0) return;
      const std::size_t rows = all.size() / width;
      out.sample = static_cast<std::int64_t>(rows);
      std::vector<double> residuals(rows);
      std::vector<double> quantiles(rows);
      for (std::size_t row = 0; row < rows; ++row) {
        residuals[row] = all[row * width];
        quantiles[row] = all[row * width + 1];
      }
      out.quantile_residuals = with_band(std::move(quantiles));
      out.bases = check_bases(model_, columns_, frame_of(all, rows), residuals, options_);
      std::ranges::sort(residuals);
      for (int q = 0; q < 3; ++q) out.residuals.quartiles[q] = base::quantile(residuals, (q + 1) / 4.0);
    });
  }

  /// Unpacks sampled rows: each has two residuals, then the variables of `frame_`.
  [[nodiscard]] Frame frame_of(std::span<const double> numbers, std::size_t rows) const {
    Frame out;
    out.rows = {0, static_cast<std::int64_t>(rows)};
    out.file_rows = out.complete_rows = out.rows.end;
    out.complete = std::vector<std::uint8_t>(rows, 1);
    const std::size_t width = frame_.variables.size() + 2;
    for (std::size_t v = 0; v + 2 < width; ++v) {
      const Variable& variable = frame_.variables[v];
      Variable& copy = out.variables.emplace_back();
      copy.name = variable.name;
      copy.factor = variable.factor;
      copy.levels = variable.levels;
      for (std::size_t row = 0; row < rows; ++row) {
        const double number = numbers[row * width + v + 2];
        if (variable.factor)
          copy.codes.own().push_back(static_cast<std::int32_t>(number));
        else
          copy.numbers.own().push_back(number);
      }
    }
    return out;
  }

  void measure_concurvity(Check& out) {
    const bool any_smooth =
        std::ranges::any_of(model_.design.blocks, [](const CoefBlock& block) { return block.is_smooth(); });
    if (!any_smooth) return;
    if (model_.design.coef_size > options_.largest_concurvity) {
      observer_.note(fmt::format(
          "concurvity is not computed: the model has {} coefficients, more than largest-concurvity, {}",
          model_.design.coef_size, options_.largest_concurvity));
      return;
    }
    say_pass("concurvity");
    Rows rows = rows_;
    rows.design = &columns_;
    const Matrix triangle = row_triangle(job_, data_.plan(), rows);
    together(job_.comm(), [&] {
      if (job_.comm().rank() == 0) out.concurvity = concurvity_of(model_.design, model_.coef, triangle);
    });
  }

  Job& job_;
  const ModelRows& data_;
  const CheckOptions& options_;
  FitObserver& observer_;
  std::vector<PhaseTime> phases_;
  const FittedModel& model_ = data_.model();
  const Frame& frame_ = data_.frame();
  const Rows& rows_ = data_.rows();
  std::optional<ResponseDistribution> distribution_ = distribution_of(model_);
  Design columns_;   ///< the design with the variable indices of `frame_`
  double unit_ = 1;  ///< converts residuals from the fit's units to the user's
  int group_ = -1;   ///< index of the variable `CheckOptions::series`; -1: none
  int passes_ = 0;
};

}  // namespace

void require_valid(const CheckOptions& options) {
  const auto require = [](std::string_view option, std::int64_t value, std::int64_t least) {
    if (value < least) throw base::usage_error("{} is {}: give at least {}", option, value, least);
  };
  require("sample", options.largest_sample, 4);
  require("permutations", options.permutations, 1);
  require("autocorrelation", options.lags, 0);
  require("largest-concurvity", options.largest_concurvity, 0);
}

Check check_rows(Job& job, const ModelRows& rows, const CheckOptions& options, FitObserver& observer) {
  return TableCheck(job, rows, options, observer).run();
}

Check check(Job& job, const Model& model, const Table& table, const CheckOptions& options,
            FitObserver* observer) {
  require_valid(options);
  FitObserver silent;
  FitObserver& told = observer != nullptr ? *observer : silent;
  const ModelRows rows(job, model.fitted(), source_of(table), options.memory, told, options.series);
  return check_rows(job, rows, options, told);
}

}  // namespace TESSERA_NAMESPACE::gam
