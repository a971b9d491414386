// SPDX-License-Identifier: Apache-2.0
#include "gam/report/discrete_plots.hpp"

#include "base/hash.hpp"
#include "gam/family/response_distribution.hpp"
#include "gam/report/groups.hpp"
#include "gam/report/plot.hpp"
#include "gam/report/text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace TESSERA_NAMESPACE::gam {
namespace {

std::string_view name_of(const Family& family) {
  return family.custom() != nullptr ? std::string_view() : family.name();
}

bool is_whole(double value) {
  return std::abs(value - std::round(value)) <= 1e-6 * std::max(1.0, std::abs(value));
}

bool has_unit_weights(const ResponseSample& sample) {
  return std::ranges::all_of(sample.weight, [](double weight) { return weight == 1; });
}

/// Inverts the deviance residual of a whole-number response with prior weight 1. Empty if no response has
/// this residual.
std::optional<double> response_of(const Family& family, double mean, double residual) {
  const auto distance = [&](double y) {
    return std::copysign(std::sqrt(std::max(0.0, family.deviance(y, mean, 1))), y - mean);
  };
  // Bisection over whole numbers, because residuals increase with the response.
  constexpr double most_told_apart = 1e15;
  double low = 0;
  double high = 1;
  if (!is_binomial(family)) {
    high = std::max(1.0, std::ceil(mean));
    while (distance(high) < residual && high < most_told_apart) high *= 2;
    if (!(high <= most_told_apart)) return std::nullopt;
  }
  while (high - low > 1) {
    const double middle = std::floor((low + high) / 2);
    (distance(middle) < residual ? low : high) = middle;
  }
  const double y = std::abs(distance(low) - residual) < std::abs(distance(high) - residual) ? low : high;
  // The stored residuals are rounded to six digits.
  constexpr double rounding = 1e-4;
  if (!(std::abs(distance(y) - residual) <= rounding * std::max(1.0, std::abs(residual))))
    return std::nullopt;
  return y;
}

}  // namespace

bool is_binomial(const Family& family) {
  const std::string_view name = name_of(family);
  return name == "binomial" || name == "quasibinomial";
}

bool is_count(const Family& family) {
  const std::string_view name = name_of(family);
  return name == "poisson" || name == "quasipoisson" || name == "nb";
}

std::optional<ResponseSample> discrete_responses(const FittedModel& model, const RowSample* rows) {
  const Family& family = model.family;
  if (!is_binomial(family) && !is_count(family)) return std::nullopt;
  ResponseSample sample;
  if (rows != nullptr) {
    for (std::size_t i = 0; i < rows->size(); ++i) {
      if (!(rows->weight[i] > 0)) continue;
      sample.row.push_back(i);
      sample.response.push_back(rows->response[i]);
      sample.predictor.push_back(rows->linear_predictor()[i]);
      sample.weight.push_back(rows->weight[i]);
    }
  } else {
    const DataOutline& outline = model.outline;
    for (std::size_t i = 0; i < outline.linear_predictor.size() && model.weights.empty(); ++i) {
      const double eta = outline.linear_predictor[i];
      const auto y = response_of(family, family.mean(eta), outline.deviance_residual[i]);
      if (!y) return std::nullopt;
      sample.response.push_back(*y);
      sample.predictor.push_back(eta);
      sample.weight.push_back(1);
    }
  }
  if (sample.response.size() < 2) return std::nullopt;
  return sample;
}

std::vector<double> quantile_residuals(const FittedModel& model, const ResponseSample& sample) {
  const std::string_view name = name_of(model.family);
  if (name != "binomial" && name != "poisson" && name != "nb") return {};
  const bool binomial = name == "binomial";
  if (!binomial && !has_unit_weights(sample)) return {};
  const ResponseDistribution distribution(model.family, model.scale);
  std::vector<double> residuals;
  for (std::size_t i = 0; i < sample.response.size(); ++i) {
    const double trials = sample.weight[i];
    const double y = binomial ? sample.response[i] * trials : sample.response[i];
    if (!is_whole(y) || (binomial && !is_whole(trials))) return {};
    const double mean = model.family.mean(sample.predictor[i]);
    residuals.push_back(quantile_residual(
        distribution.probabilities(sample.response[i], mean, binomial ? std::round(trials) : 1),
        base::split_mix(i)));
  }
  return residuals;
}

Picture proportions(const FittedModel& model, const ResponseSample& sample) {
  std::vector<double> means;
  for (const double eta : sample.predictor) means.push_back(model.family.mean(eta));
  std::vector<double> fitted;
  std::vector<double> observed;
  std::vector<double> errors;
  std::vector<double> ends;
  std::vector<double> end_places;
  Interval x = no_interval;
  Interval y = no_interval;
  for (const auto& group : groups_by(means)) {
    double trials = 0;
    double successes = 0;
    double expected = 0;
    double variance = 0;
    for (const std::size_t row : group) {
      trials += sample.weight[row];
      successes += sample.weight[row] * sample.response[row];
      expected += sample.weight[row] * means[row];
      variance += std::max(0.0, sample.weight[row] * means[row] * (1 - means[row]) * model.scale);
    }
    fitted.push_back(expected / trials);
    observed.push_back(successes / trials);
    errors.push_back(std::sqrt(variance) / trials);
    const double low = std::max(0.0, fitted.back() - 2 * errors.back());
    const double high = std::min(1.0, fitted.back() + 2 * errors.back());
    ends.insert(ends.end(), {low, high});
    end_places.insert(end_places.end(), {fitted.back(), fitted.back()});
    x = {std::min(x.low, fitted.back()), std::max(x.high, fitted.back())};
    y = {std::min({y.low, low, observed.back()}), std::max({y.high, high, observed.back()})};
  }
  Plot plot(
      {"Observed against fitted proportions",
       fmt::format("{} rows in {} groups of similar fitted proportions, from {} to {}; observed ones are "
                   "from {} to {}.",
                   count_text(std::ssize(means)), fitted.size(), number_text(x.low), number_text(x.high),
                   number_text(*std::ranges::min_element(observed)),
                   number_text(*std::ranges::max_element(observed)))},
      {"fitted proportion", widened(x)}, {"observed proportion", widened(y)});
  plot.segment(std::max(x.low, y.low), std::max(x.low, y.low), std::min(x.high, y.high),
               std::min(x.high, y.high), "reference");
  plot.segments(end_places, ends, "interval faint");
  plot.points(fitted, observed, "estimates");
  return {plot.svg(), csv_text({{"fitted", fitted}, {"observed", observed}, {"se", errors}})};
}

Picture binned_residuals(const FittedModel& model, const ResponseSample& sample) {
  std::vector<double> x;
  std::vector<double> mean;
  std::vector<double> limit;
  Interval y{0, 0};
  for (const auto& group : groups_by(sample.predictor)) {
    double predictor = 0;
    double sum = 0;
    for (const std::size_t row : group) {
      const double mu = model.family.mean(sample.predictor[row]);
      const double variance = model.family.variance(mu) / sample.weight[row];
      predictor += sample.predictor[row];
      if (variance > 0) sum += (sample.response[row] - mu) / std::sqrt(variance);
    }
    const auto size = static_cast<double>(group.size());
    x.push_back(predictor / size);
    mean.push_back(sum / size);
    limit.push_back(2 * std::sqrt(model.scale / size));
    y = {std::min({y.low, mean.back(), -limit.back()}), std::max({y.high, mean.back(), limit.back()})};
  }
  const Interval range{x.front(), x.back()};
  std::vector<double> low(limit);
  for (double& one : low) one = -one;
  const auto inside = std::ranges::count_if(
      mean, [&, i = std::size_t{0}](double one) mutable { return std::abs(one) <= limit[i++]; });
  Plot plot({"Binned residuals",
             fmt::format("Means of Pearson residuals in {} groups of similar linear predictors, {} of them "
                         "within two standard errors of zero.",
                         x.size(), inside)},
            {"linear predictor", widened(range)}, {"mean Pearson residual", widened(y)});
  if (x.size() > 1) plot.band(x, low, limit);
  plot.segment(range.low, 0, range.high, 0, "zero");
  plot.points(x, mean, "estimates");
  return {plot.svg(), csv_text({{"linear_predictor", x}, {"mean_residual", mean}, {"two_se", limit}})};
}

Picture rootogram(const FittedModel& model, const ResponseSample& sample) {
  const ResponseDistribution distribution(model.family, model.scale);
  constexpr double most_bars = 40;
  const double largest = std::round(*std::ranges::max_element(sample.response));
  const double width = std::ceil((largest + 1) / most_bars);
  const auto count = static_cast<std::size_t>(largest / width) + 1;
  std::vector<double> from;
  std::vector<double> observed(count);
  std::vector<double> expected(count);
  for (std::size_t i = 0; i < count; ++i) from.push_back(width * static_cast<double>(i));
  for (std::size_t row = 0; row < sample.response.size(); ++row) {
    ++observed[static_cast<std::size_t>(std::round(sample.response[row]) / width)];
    const double mean = model.family.mean(sample.predictor[row]);
    double below = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const double up_to = distribution.cumulative(from[i] + width - 1, mean);
      expected[i] += up_to - below;
      below = up_to;
    }
  }
  std::vector<PlotRectangle> bars;
  std::vector<double> middles;
  std::vector<double> roots;
  Interval y{-1, 1};
  for (std::size_t i = 0; i < count; ++i) {
    const double root = std::sqrt(std::max(0.0, expected[i]));
    const double foot = root - std::sqrt(observed[i]);
    const double middle = from[i] + (width - 1) / 2;
    bars.push_back({middle - 0.4 * width, middle + 0.4 * width, std::min(root, foot), std::max(root, foot)});
    middles.push_back(middle);
    roots.push_back(root);
    y = {std::min(y.low, foot), std::max(y.high, root)};
  }
  const Interval x{-0.5 * width, middles.back() + 0.5 * width};
  Plot plot({"Rootogram", fmt::format("Counts from 0 to {} of {} rows; {} rows are 0, and {} are expected.",
                                      number_text(largest, 9), count_text(std::ssize(sample.response)),
                                      observed[0], number_text(expected[0]))},
            {width == 1 ? "count" : fmt::format("count, in groups of {}", width), widened(x)},
            {"square root of rows", widened(y)});
  plot.rectangles(bars, "bars");
  plot.segment(x.low, 0, x.high, 0, "zero");
  for (const double one : {-1.0, 1.0}) plot.segment(x.low, one, x.high, one, "zero");
  if (count > 1) plot.line(middles, roots, "line expected");
  return {plot.svg(), csv_text({{"from", from}, {"observed", observed}, {"expected", expected}})};
}

}  // namespace TESSERA_NAMESPACE::gam
