// SPDX-License-Identifier: Apache-2.0
#include "gam/report/residual_plots.hpp"

#include "base/quantile.hpp"
#include "gam/report/groups.hpp"
#include "gam/report/normal_scores.hpp"
#include "gam/report/plot.hpp"
#include "gam/report/text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <numbers>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

Interval range_of(std::span<const double> values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {*low, *high};
}

std::string axis_of(std::string_view kind) {
  return fmt::format("{} residuals", kind);
}

std::vector<double> listed(std::span<const double> values) {
  return {values.begin(), values.end()};
}

struct Moments {
  double mean;
  double deviation;  ///< standard deviation
};
Moments moments_of(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, std::sqrt(squares / n)};
}

struct Box {
  std::string level;
  double rows;
  double mean;
  double error;  ///< standard error of the mean, assuming that residuals do not depend on the level
  double first, median, third;
  double lower, upper;  ///< ends of the whiskers
  std::vector<double> outliers{};
};

Box box_of(const std::string& level, std::vector<double> residuals, double deviation) {
  std::ranges::sort(residuals);
  const auto rows = static_cast<double>(residuals.size());
  Box box{.level = level,
          .rows = rows,
          .mean = moments_of(residuals).mean,
          .error = deviation / std::sqrt(rows),
          .first = base::quantile(residuals, 0.25),
          .median = base::quantile(residuals, 0.5),
          .third = base::quantile(residuals, 0.75),
          .lower = 0,
          .upper = 0};
  const double reach = 1.5 * (box.third - box.first);
  const auto begin = std::ranges::lower_bound(residuals, box.first - reach);
  const auto end = std::ranges::upper_bound(residuals, box.third + reach);
  box.lower = std::min(*begin, box.first);
  box.upper = std::max(*(end - 1), box.third);
  box.outliers.assign(residuals.begin(), begin);
  box.outliers.insert(box.outliers.end(), end, residuals.end());
  return box;
}

/// Keeps the `max_boxes` boxes whose means are farthest from `mean`, in standard errors; their order does not
/// change.
void keep_farthest(std::vector<Box>& boxes, double mean) {
  if (boxes.size() <= max_boxes) return;
  std::vector<std::size_t> order(boxes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) {
    return std::abs(boxes[i].mean - mean) * std::sqrt(boxes[i].rows);
  });
  order.resize(max_boxes);
  std::ranges::sort(order);
  std::vector<Box> kept;
  for (const std::size_t i : order) kept.push_back(std::move(boxes[i]));
  boxes = std::move(kept);
}

}  // namespace

Picture residual_qq_plot(std::string_view kind, std::span<const double> residuals, double scale) {
  std::vector<double> sorted(residuals.begin(), residuals.end());
  std::sort(sorted.begin(), sorted.end());
  const std::vector<double> scores = normal_scores(sorted.size());
  const double slope = std::sqrt(scale);
  std::vector<double> band;
  std::vector<double> low;
  std::vector<double> high;
  const std::size_t thinned = std::max<std::size_t>(1, scores.size() / 200);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    // Thins out the points of the band, except near its two ends.
    if (i % thinned != 0 && i > thinned && i + thinned + 1 < scores.size()) continue;
    band.push_back(scores[i]);
    // Asymptotic standard error of an order statistic of a normal sample.
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
  // Breaks at round numbers, about as many as by Rice's rule, 2 n^(1/3).
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

Picture residual_scatter(std::string_view kind, const std::string& what, const std::string& column,
                         std::span<const double> values, std::span<const double> residuals) {
  const Interval x = range_of(values);
  const Interval y = range_of(residuals);
  Interval drawn{std::min(y.low, 0.0), std::max(y.high, 0.0)};
  const Moments all = moments_of(residuals);
  const GroupMeans means = group_means(values, residuals);
  std::vector<double> low;
  std::vector<double> high;
  int outside = 0;
  for (std::size_t i = 0; i < means.y.size(); ++i) {
    const double limit = 2 * all.deviation / std::sqrt(means.rows[i]);
    low.push_back(all.mean - limit);
    high.push_back(all.mean + limit);
    outside += std::abs(means.y[i] - all.mean) > limit ? 1 : 0;
    drawn = {std::min(drawn.low, low.back()), std::max(drawn.high, high.back())};
  }
  Plot plot({fmt::format("Residuals against {}", what),
             fmt::format("{} rows; {} from {} to {}, {} from {} to {}. Of {} means of groups of rows {} are "
                         "farther than two standard errors from that of all.",
                         count_text(std::ssize(residuals)), what, number_text(x.low), number_text(x.high),
                         axis_of(kind), number_text(y.low), number_text(y.high), means.y.size(), outside)},
            {what, widened(x)}, {axis_of(kind), widened(drawn)});
  plot.segment(widened(x).low, 0, widened(x).high, 0, "zero");
  plot.points(values, residuals, "points single");
  if (means.x.size() > 1) {
    plot.band(means.x, low, high, "band expected");
    plot.line(means.x, means.y, "line expected");
  }
  return {plot.svg(),
          csv_text({{column, means.x},
                    {"mean_residual", means.y},
                    {"rows", means.rows},
                    {"lower", low},
                    {"upper", high}}),
          csv_text({{column, listed(values)}, {"residual", listed(residuals)}})};
}

Picture residual_boxes(std::string_view kind, const std::string& factor, std::span<const std::string> levels,
                       std::span<const double> codes, std::span<const double> residuals) {
  std::vector<std::vector<double>> of_level(levels.size());
  std::vector<std::string> level_of_row;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const auto level = static_cast<std::size_t>(codes[i]);
    of_level[level].push_back(residuals[i]);
    level_of_row.push_back(levels[level]);
  }
  const Moments all = moments_of(residuals);
  std::vector<Box> boxes;
  for (std::size_t level = 0; level < levels.size(); ++level) {
    if (!of_level[level].empty())
      boxes.push_back(box_of(levels[level], std::move(of_level[level]), all.deviation));
  }
  const std::size_t count = boxes.size();
  keep_farthest(boxes, all.mean);

  const Interval range = range_of(residuals);
  PlotAxis y{{}, {}, {}};
  for (const Box& box : boxes) y.categories.push_back(box.level);
  Plot plot({fmt::format("Residuals by {}", factor),
             fmt::format("Boxes of {} {}, {} rows, from {} to {}.",
                         boxes.size() < count ? fmt::format("{} of {} levels:", boxes.size(), count)
                                              : fmt::format("{} levels:", count),
                         axis_of(kind), count_text(std::ssize(residuals)), number_text(range.low),
                         number_text(range.high))},
            {axis_of(kind), widened({std::min(range.low, 0.0), std::max(range.high, 0.0)})}, std::move(y),
            {360, 62 + 18 * static_cast<double>(boxes.size())});
  plot.segment(0, 0, 0, static_cast<double>(boxes.size()), "zero");
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const Box& box = boxes[i];
    const double row = static_cast<double>(i) + 0.5;
    const double half = 0.3;
    plot.points(box.outliers, std::vector<double>(box.outliers.size(), row), "points single");
    plot.rectangles(std::array{PlotRectangle{box.first, box.third, row - half, row + half}}, "bars");
    plot.segment(box.lower, row, box.first, row, "interval");
    plot.segment(box.third, row, box.upper, row, "interval");
    plot.segment(box.median, row - half, box.median, row + half, "interval");
    plot.points(std::array{box.mean}, std::array{row}, "estimates expected");
  }
  const auto column = [&](auto Box::*member) {
    std::vector<std::decay_t<decltype(boxes.front().*member)>> out;
    for (const Box& box : boxes) out.push_back(box.*member);
    return out;
  };
  return {plot.svg(),
          csv_text({{factor, column(&Box::level)},
                    {"rows", column(&Box::rows)},
                    {"mean_residual", column(&Box::mean)},
                    {"se", column(&Box::error)},
                    {"lower_whisker", column(&Box::lower)},
                    {"first_quartile", column(&Box::first)},
                    {"median", column(&Box::median)},
                    {"third_quartile", column(&Box::third)},
                    {"upper_whisker", column(&Box::upper)}}),
          csv_text({{factor, level_of_row}, {"residual", listed(residuals)}})};
}

Picture observed_scatter(std::span<const double> fitted, std::span<const double> observed) {
  const Interval x = range_of(fitted);
  const Interval y = range_of(observed);
  const GroupMeans means = group_means(fitted, observed);
  Plot plot(
      {"Observed against fitted", fmt::format("{} rows; fitted means from {} to {}, responses from {} to {}.",
                                              count_text(std::ssize(fitted)), number_text(x.low),
                                              number_text(x.high), number_text(y.low), number_text(y.high))},
      {"fitted", widened(x)}, {"observed", widened({std::min(x.low, y.low), std::max(x.high, y.high)})});
  plot.points(fitted, observed, "points single");
  plot.segment(x.low, x.low, x.high, x.high, "reference");
  if (means.x.size() > 1) plot.points(means.x, means.y, "estimates expected");
  return {plot.svg(), csv_text({{"fitted", means.x}, {"mean_observed", means.y}, {"rows", means.rows}}),
          csv_text({{"fitted", listed(fitted)}, {"observed", listed(observed)}})};
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
  return {plot.svg(), csv_text({{"lag", lags}, {"autocorrelation", listed(autocorrelation)}})};
}

}  // namespace TESSERA_NAMESPACE::gam
