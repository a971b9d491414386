// SPDX-License-Identifier: Apache-2.0
#include "gam/report/residual_plots.hpp"

#include "gam/report/normal.hpp"
#include "gam/report/plot.hpp"
#include "gam/report/text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace tessera::gam {
namespace {

Interval range_of(std::span<const double> values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {*low, *high};
}

std::string axis_of(std::string_view kind) {
  return fmt::format("{} residuals", kind);
}

}  // namespace

Picture residual_quantiles(std::string_view kind, std::span<const double> residuals, double scale) {
  std::vector<double> sorted(residuals.begin(), residuals.end());
  std::sort(sorted.begin(), sorted.end());
  const std::vector<double> scores = normal_scores(sorted.size());
  const double slope = std::sqrt(scale);
  std::vector<double> band;
  std::vector<double> low;
  std::vector<double> high;
  const std::size_t thinned = std::max<std::size_t>(1, scores.size() / 200);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    // Its ends are seen, and few of the points between.
    if (i % thinned != 0 && i > thinned && i + thinned + 1 < scores.size()) continue;
    band.push_back(scores[i]);
    // The standard error of an order statistic of so many normal values, asymptotically.
    const double p = (static_cast<double>(i) + 0.5) / static_cast<double>(scores.size());
    const double density = std::exp(-scores[i] * scores[i] / 2) / std::sqrt(2 * std::numbers::pi);
    const double error = slope * std::sqrt(p * (1 - p) / static_cast<double>(scores.size())) / density;
    low.push_back(slope * scores[i] - 1.96 * error);
    high.push_back(slope * scores[i] + 1.96 * error);
  }
  const Interval y = widened({std::min(sorted.front(), low.front()), std::max(sorted.back(), high.back())});
  Plot plot({"Quantiles of the residuals",
             fmt::format("{} {}, from {} to {}, against normal quantiles, with a line of slope {}.",
                         count_text(static_cast<long long>(sorted.size())), axis_of(kind),
                         number_text(sorted.front()), number_text(sorted.back()), number_text(slope))},
            {"normal quantiles", widened({scores.front(), scores.back()})}, {axis_of(kind), y});
  plot.band(band, low, high);
  plot.segment(scores.front(), slope * scores.front(), scores.back(), slope * scores.back(), "reference");
  plot.points(scores, sorted);
  return {plot.svg(), csv_text({{"normal_quantile", scores}, {"residual", sorted}})};
}

Picture residual_histogram(std::string_view kind, std::span<const double> residuals) {
  const Interval range = range_of(residuals);
  const Interval whole = widened(range);
  // Bars between round numbers, about as many as Rice's rule, 2 n^(1/3), asks for.
  const auto wanted = static_cast<int>(2 * std::cbrt(static_cast<double>(residuals.size())));
  const std::vector<double> breaks = ticks(whole.low, whole.high, std::clamp(wanted, 4, 40));
  const double step = breaks[1] - breaks[0];
  const double first = breaks.front() - step;
  std::vector<PlotRectangle> bars(breaks.size() + 1);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double left = first + step * static_cast<double>(i);
    bars[i] = {left, left + step, 0, 0};
  }
  for (const double residual : residuals) {
    const auto bar = static_cast<std::size_t>(std::max(0.0, std::floor((residual - first) / step)));
    ++bars[std::min(bar, bars.size() - 1)].top;
  }
  std::erase_if(bars, [](const PlotRectangle& bar) { return bar.top == 0; });
  const auto highest = std::max_element(
      bars.begin(), bars.end(), [](const PlotRectangle& a, const PlotRectangle& b) { return a.top < b.top; });
  Plot plot({"Histogram of the residuals",
             fmt::format("{} {}; most, {}, are between {} and {}.",
                         count_text(static_cast<long long>(residuals.size())), axis_of(kind),
                         count_text(static_cast<long long>(highest->top)), number_text(highest->left),
                         number_text(highest->right))},
            {axis_of(kind), widened({bars.front().left, bars.back().right})},
            {"rows", {0, 1.05 * highest->top}});
  plot.rectangles(bars, "bars");
  std::vector<double> from;
  std::vector<double> to;
  std::vector<double> rows;
  for (const PlotRectangle& bar : bars) {
    from.push_back(bar.left);
    to.push_back(bar.right);
    rows.push_back(bar.top);
  }
  return {plot.svg(), csv_text({{"from", from}, {"to", to}, {"rows", rows}})};
}

Picture residual_scatter(std::string_view kind, std::span<const double> linear_predictor,
                         std::span<const double> residuals) {
  const Interval x = widened(range_of(linear_predictor));
  const Interval y = range_of(residuals);
  Plot plot(
      {"Residuals against the linear predictor",
       fmt::format("{} rows; linear predictors from {} to {}, {} from {} to {}.",
                   count_text(static_cast<long long>(residuals.size())),
                   number_text(range_of(linear_predictor).low), number_text(range_of(linear_predictor).high),
                   axis_of(kind), number_text(y.low), number_text(y.high))},
      {"linear predictor", x}, {axis_of(kind), widened({std::min(y.low, 0.0), std::max(y.high, 0.0)})});
  plot.segment(x.low, 0, x.high, 0, "zero");
  plot.points(linear_predictor, residuals);
  return {
      plot.svg(),
      csv_text({{"linear_predictor", std::vector<double>(linear_predictor.begin(), linear_predictor.end())},
                {"residual", std::vector<double>(residuals.begin(), residuals.end())}})};
}

Picture residual_autocorrelation(std::string_view kind, std::span<const double> autocorrelation,
                                 std::int64_t rows) {
  const double limit = 1.96 / std::sqrt(static_cast<double>(rows));
  const Interval range = range_of(autocorrelation);
  const Interval y = widened({std::min(range.low, -limit), std::max(range.high, limit)});
  const auto last = static_cast<double>(autocorrelation.size()) + 1;
  Plot plot({"Autocorrelation of the residuals",
             fmt::format("Autocorrelation of {} at lags 1 to {}, from {} to {}; at lag 1 it is {}.",
                         axis_of(kind), autocorrelation.size(), number_text(range.low),
                         number_text(range.high), number_text(autocorrelation.front()))},
            {"lag", {0, last}}, {"autocorrelation", y});
  plot.segment(0, 0, last, 0, "zero");
  for (const double one : {-limit, limit}) plot.segment(0, one, last, one, "reference");
  std::vector<PlotRectangle> bars;
  std::vector<double> lags;
  for (std::size_t i = 0; i < autocorrelation.size(); ++i) {
    const auto lag = static_cast<double>(i + 1);
    lags.push_back(lag);
    bars.push_back(
        {lag - 0.2, lag + 0.2, std::min(0.0, autocorrelation[i]), std::max(0.0, autocorrelation[i])});
  }
  plot.rectangles(bars, "bars");
  return {
      plot.svg(),
      csv_text({{"lag", lags},
                {"autocorrelation", std::vector<double>(autocorrelation.begin(), autocorrelation.end())}})};
}

}  // namespace tessera::gam
