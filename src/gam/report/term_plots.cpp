// SPDX-License-Identifier: Apache-2.0
#include "gam/report/term_plots.hpp"

#include "base/at.hpp"
#include "gam/report/contour.hpp"
#include "gam/report/normal.hpp"
#include "gam/report/plot.hpp"
#include "gam/report/text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tessera::gam {
namespace {

using base::at;

/// Colours of a filled plot.
constexpr int colour_steps = 24;

struct Colour {
  double red, green, blue;
};

std::string text_of(const Colour& colour) {
  const auto byte = [](double share) { return static_cast<int>(std::lround(share)); };
  return fmt::format("#{:02x}{:02x}{:02x}", byte(colour.red), byte(colour.green), byte(colour.blue));
}

Colour between(const Colour& a, const Colour& b, double share) {
  return {a.red + share * (b.red - a.red), a.green + share * (b.green - a.green),
          a.blue + share * (b.blue - a.blue)};
}

/// Blue below zero, brown above, pale at zero: told apart by all eyes, and as dark at both ends.
std::vector<std::string> signed_colours() {
  constexpr Colour below{33, 92, 152};
  constexpr Colour zero{246, 245, 240};
  constexpr Colour above{158, 84, 18};
  std::vector<std::string> colours;
  for (int i = 0; i < colour_steps; ++i) {
    const double t = 2 * (i + 0.5) / colour_steps - 1;
    colours.push_back(text_of(between(zero, t < 0 ? below : above, std::abs(t))));
  }
  return colours;
}

std::vector<std::string> rising_colours() {
  constexpr Colour low{246, 245, 240};
  constexpr Colour high{64, 64, 82};
  std::vector<std::string> colours;
  colours.reserve(colour_steps);
  for (int i = 0; i < colour_steps; ++i) {
    colours.push_back(text_of(between(low, high, (i + 0.5) / colour_steps)));
  }
  return colours;
}

std::string standing_for(const std::string& what, const std::string& by) {
  return by.empty() ? what : fmt::format("{}, at {} = 1", what, by);
}

/// Axes of a filled plot: the points' own extent.
Interval ends_of(const std::vector<double>& values) {
  return {values.front(), values.back()};
}

std::string filled_svg(PlotText text, const Surface& surface, const Matrix& values, Interval range,
                       const std::vector<std::string>& colours, int contours) {
  Plot plot(std::move(text), {surface.x_variable, ends_of(surface.x)},
            {surface.y_variable, ends_of(surface.y)}, {360, 284}, legend_margin(range));
  // The rectangle around each point, neighbours of one colour in one.
  std::vector<std::vector<PlotRectangle>> rectangles(colours.size());
  const auto edge = [](const std::vector<double>& positions, int i) {
    const auto last = static_cast<int>(positions.size()) - 1;
    if (i <= 0) return positions.front();
    if (i > last) return positions.back();
    return (positions[at(i - 1)] + positions[at(i)]) / 2;
  };
  const auto colour_at = [&](int i, int j) {
    const double share = (values(i, j) - range.low) / (range.high - range.low) * colour_steps;
    return std::clamp(static_cast<int>(share), 0, colour_steps - 1);
  };
  for (int j = 0; j < values.cols(); ++j) {
    for (int i = 0; i < values.rows();) {
      int end = i + 1;
      while (end < values.rows() && colour_at(end, j) == colour_at(i, j)) ++end;
      rectangles[at(colour_at(i, j))].push_back(
          {edge(surface.x, i), edge(surface.x, end), edge(surface.y, j), edge(surface.y, j + 1)});
      i = end;
    }
  }
  for (std::size_t c = 0; c < colours.size(); ++c) {
    if (!rectangles[c].empty()) plot.rectangles(rectangles[c], "cells", colours[c]);
  }
  const auto [low, high] = std::minmax_element(values.values().begin(), values.values().end());
  if (*low < *high) {
    for (const double level : ticks(*low, *high, contours)) {
      const Segments found = contour(surface.x, surface.y, values, level);
      if (!found.x.empty()) plot.segments(found.x, found.y, "contour");
    }
  }
  plot.legend(range, colours);
  return plot.svg();
}

/// The levels one below the other.
std::string listed_svg(const Effect& effect, const Levels& levels) {
  std::vector<std::size_t> order(levels.names.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (levels.random) {
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return levels.values[a].fit > levels.values[b].fit;
    });
  }
  Interval range{0, 0};
  PlotAxis y{{}, {}, {}};
  for (const std::size_t level : order) {
    const Estimate& one = levels.values[level];
    range = {std::min(range.low, one.fit - 2 * one.se), std::max(range.high, one.fit + 2 * one.se)};
    y.categories.push_back(levels.names[level]);
  }
  const auto [least, largest] =
      std::minmax_element(levels.values.begin(), levels.values.end(),
                          [](const Estimate& a, const Estimate& b) { return a.fit < b.fit; });
  Plot plot(
      {effect.title,
       fmt::format("Effects of {} levels with intervals of two standard errors, from {} ({}) to {} ({}).",
                   order.size(), number_text(least->fit),
                   levels.names[static_cast<std::size_t>(least - levels.values.begin())],
                   number_text(largest->fit),
                   levels.names[static_cast<std::size_t>(largest - levels.values.begin())])},
      {standing_for(effect.title, effect.by), widened(range)}, std::move(y),
      {360, 62 + 18 * static_cast<double>(order.size())});
  plot.segment(0, 0, 0, static_cast<double>(order.size()), "zero");
  std::vector<double> ends;
  std::vector<double> end_rows;
  std::vector<double> fits;
  std::vector<double> rows;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Estimate& one = levels.values[order[i]];
    const double row = static_cast<double>(i) + 0.5;
    ends.insert(ends.end(), {one.fit - 2 * one.se, one.fit + 2 * one.se});
    end_rows.insert(end_rows.end(), {row, row});
    fits.push_back(one.fit);
    rows.push_back(row);
  }
  plot.segments(ends, end_rows, "interval");
  plot.points(fits, rows, "estimates");
  return plot.svg();
}

/// Many levels against the normal distribution that the model takes them from.
std::string quantiles_svg(const Effect& effect, const Levels& levels) {
  std::vector<double> fits;
  for (const Estimate& one : levels.values) fits.push_back(one.fit);
  std::sort(fits.begin(), fits.end());
  const std::vector<double> scores = normal_scores(fits.size());
  const double slope = std::inner_product(fits.begin(), fits.end(), scores.begin(), 0.0) /
                       std::inner_product(scores.begin(), scores.end(), scores.begin(), 0.0);
  const Interval x = widened({scores.front(), scores.back()});
  const Interval y =
      widened({std::min(fits.front(), slope * scores.front()), std::max(fits.back(), slope * scores.back())});
  Plot plot({effect.title, fmt::format("Quantiles of {} effects, from {} to {}, against normal quantiles.",
                                       fits.size(), number_text(fits.front()), number_text(fits.back()))},
            {"normal quantiles", x}, {standing_for(effect.title, effect.by), y});
  plot.segment(scores.front(), slope * scores.front(), scores.back(), slope * scores.back(), "reference");
  plot.points(scores, fits);
  return plot.svg();
}

}  // namespace

Interval extent_of(const Curve& curve) {
  Interval range = no_interval;
  const double errors = curve.lines.size() == 1 ? 2 : 0;
  for (const Curve::Line& line : curve.lines) {
    for (const Estimate& one : line.values) {
      range = {std::min(range.low, one.fit - errors * one.se),
               std::max(range.high, one.fit + errors * one.se)};
    }
  }
  return range;
}

std::string curve_svg(const Effect& effect, const Curve& curve, const DataOutline& outline,
                      std::optional<Interval> y) {
  const Interval range = extent_of(curve);
  const auto& first = curve.lines.front().values;
  const std::string description =
      curve.lines.size() == 1
          ? fmt::format(
                "{} at {} = {}, {} at {} = {}; between {} and {} with two standard errors either way.",
                number_text(first.front().fit), curve.variable, number_text(curve.x.front()),
                number_text(first.back().fit), curve.variable, number_text(curve.x.back()),
                number_text(range.low), number_text(range.high))
          : fmt::format("{} curves, one a level, between {} and {}.", curve.lines.size(),
                        number_text(range.low), number_text(range.high));
  Plot plot({effect.title, description}, {curve.variable, widened(ends_of(curve.x))},
            {standing_for(effect.title, effect.by), y ? *y : axis_of(range)});
  for (const VariableOutline& variable : outline.variables) {
    if (variable.name != curve.variable || variable.counts.empty()) continue;
    const std::vector<long long> counts(variable.counts.begin(), variable.counts.end());
    plot.strip(variable.min, variable.max, counts);
  }
  for (const Curve::Line& line : curve.lines) {
    std::vector<double> fit;
    std::vector<double> low;
    std::vector<double> high;
    for (const Estimate& one : line.values) {
      fit.push_back(one.fit);
      low.push_back(one.fit - 2 * one.se);
      high.push_back(one.fit + 2 * one.se);
    }
    if (curve.lines.size() == 1) plot.band(curve.x, low, high);
    plot.line(curve.x, fit, curve.lines.size() == 1 ? "line" : "line many");
  }
  return plot.svg();
}

Interval axis_of(Interval curves) {
  const Interval whole = widened(curves);
  return {whole.low - strip_share * (whole.high - whole.low), whole.high};
}

SurfacePictures surface_svg(const Effect& effect, const Surface& surface) {
  const auto fit = std::minmax_element(surface.fit.values().begin(), surface.fit.values().end());
  const auto se = std::minmax_element(surface.se.values().begin(), surface.se.values().end());
  const double largest = std::max({std::abs(*fit.first), std::abs(*fit.second), 1e-300});
  const std::string over = fmt::format("over {} and {}", surface.x_variable, surface.y_variable);
  return {
      filled_svg({effect.title,
                  fmt::format("{}: from {} to {}.", over, number_text(*fit.first), number_text(*fit.second))},
                 surface, surface.fit, {-largest, largest}, signed_colours(), 8),
      filled_svg({effect.title + ", standard error",
                  fmt::format("{}: from {} to {}.", over, number_text(*se.first), number_text(*se.second))},
                 surface, surface.se, {0, std::max(*se.second, 1e-300)}, rising_colours(), 4)};
}

std::string levels_svg(const Effect& effect, const Levels& levels) {
  return levels.random && levels.names.size() > max_listed ? quantiles_svg(effect, levels)
                                                           : listed_svg(effect, levels);
}

}  // namespace tessera::gam
