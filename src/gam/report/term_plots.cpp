// SPDX-License-Identifier: Apache-2.0
#include "gam/report/term_plots.hpp"

#include "base/at.hpp"
#include "gam/report/contour.hpp"
#include "gam/report/discrete_plots.hpp"
#include "gam/report/figures.hpp"
#include "gam/report/groups.hpp"
#include "gam/report/normal_scores.hpp"
#include "gam/report/plot.hpp"
#include "gam/report/text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

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

/// A diverging colour scale: blue below zero, pale at zero, brown above. Safe for colour blindness, and
/// equally dark at both ends.
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

Interval ends_of(const std::vector<double>& values) {
  return {values.front(), values.back()};
}

/// Range of the numbers, ignoring NaN; [0, 0] if there are none.
Interval range_of(const Matrix& values) {
  Interval range = no_interval;
  for (const double value : values.values()) {
    if (!std::isnan(value)) range = {std::min(range.low, value), std::max(range.high, value)};
  }
  return range.low <= range.high ? range : Interval{0, 0};
}

std::string filled_svg(PlotText text, const Surface& surface, const Matrix& values, Interval range,
                       const std::vector<std::string>& colours, int contours,
                       const Places* places = nullptr) {
  Plot plot(std::move(text), {surface.x_variable, ends_of(surface.x)},
            {surface.y_variable, ends_of(surface.y)}, {360, 284}, legend_margin(range));
  // Rectangles by colour. Neighbours in x of the same colour are merged.
  std::vector<std::vector<PlotRectangle>> rectangles(colours.size());
  const auto edge = [](const std::vector<double>& positions, int i) {
    const auto last = static_cast<int>(positions.size()) - 1;
    if (i <= 0) return positions.front();
    if (i > last) return positions.back();
    return (positions[at(i - 1)] + positions[at(i)]) / 2;
  };
  const auto colour_at = [&](int i, int j) {
    if (std::isnan(values(i, j))) return colour_steps;  // no colour
    const double share = (values(i, j) - range.low) / (range.high - range.low) * colour_steps;
    return std::clamp(static_cast<int>(share), 0, colour_steps - 1);
  };
  for (int j = 0; j < values.cols(); ++j) {
    for (int i = 0; i < values.rows();) {
      int end = i + 1;
      while (end < values.rows() && colour_at(end, j) == colour_at(i, j)) ++end;
      if (colour_at(i, j) < colour_steps)
        rectangles[at(colour_at(i, j))].push_back(
            {edge(surface.x, i), edge(surface.x, end), edge(surface.y, j), edge(surface.y, j + 1)});
      i = end;
    }
  }
  for (std::size_t c = 0; c < colours.size(); ++c) {
    if (!rectangles[c].empty()) plot.rectangles(rectangles[c], "cells", colours[c]);
  }
  if (const auto [low, high] = range_of(values); low < high) {
    for (const double level : ticks(low, high, contours)) {
      const Segments found = contour(surface.x, surface.y, values, level);
      if (!found.x.empty()) plot.segments(found.x, found.y, "contour");
    }
  }
  if (places != nullptr) plot.points(places->x, places->y, "places");
  plot.legend(range, colours);
  return plot.svg();
}

/// Bands need a distinct colour for each line.
bool has_bands(const Curve& curve) {
  return curve.lines.size() <= line_colours;
}

/// The label without by factor and level: "s(x):" of "s(x):fa".
std::string stem_of(const Effect& effect) {
  const std::size_t end = effect.label.size() - effect.by_factor.size() - effect.by_level.size();
  return effect.label.substr(0, end);
}

/// Indices of the sampled rows; of a smooth by a factor, only rows at the effect's level.
std::vector<std::size_t> rows_of(const Effect& effect, const RowSample& rows) {
  const auto* factor = effect.by_factor.empty() ? nullptr : column_of(rows.variables, effect.by_factor);
  std::vector<std::size_t> found;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (factor == nullptr || factor->levels.empty() ||
        factor->levels[static_cast<std::size_t>(factor->values[row])] == effect.by_level)
      found.push_back(row);
  }
  return found;
}

/// The Pearson residual or, if the family has no variance function, the working residual.
double partial_residual(const FittedModel& model, const RowSample& rows, std::size_t row) {
  const double eta = rows.linear_predictor()[row];
  const double mean = model.family.mean(eta);
  const double difference = rows.response[row] - mean;
  const double variance = model.family.variance(mean);
  return std::isnan(variance) ? model.family.working_residual(rows.response_of(row), eta)
                              : difference * std::sqrt(rows.weight[row] / variance);
}

/// Maximum number of rows in a rug; more rows are drawn as a histogram.
constexpr std::size_t longest_rug = 600;

std::vector<long long> counts_of(std::span<const double> values, Interval range) {
  constexpr int parts = 60;
  std::vector<long long> counts(parts);
  for (const double value : values) {
    const double share = range.low < range.high ? (value - range.low) / (range.high - range.low) * parts : 0;
    ++counts[at(std::clamp(static_cast<int>(share), 0, parts - 1))];
  }
  return counts;
}

/// Adds the rug and, if each line is one effect without a numeric by variable, partial residuals.
void add_rows(CurvePanel& panel, std::span<const Effect* const> members, const FittedModel& model,
              const RowSample& rows) {
  const auto* x = column_of(rows.variables, panel.curve.variable);
  if (x == nullptr) return;
  for (const Effect* member : members) {
    const auto* term = column_of(rows.terms, member->label);
    CurvePanel::Points points;
    for (const std::size_t row : rows_of(*member, rows)) {
      panel.rug.push_back(x->values[row]);
      if (term == nullptr) continue;
      const double y = term->values[row] + partial_residual(model, rows, row);
      if (!std::isfinite(y)) continue;
      points.x.push_back(x->values[row]);
      points.y.push_back(y);
    }
    if (members.size() != panel.curve.lines.size() || !panel.by.empty() || !has_bands(panel.curve)) continue;
    if (is_binomial(model.family)) {
      GroupMeans means = group_means(points.x, points.y);
      panel.means.push_back({std::move(means.x), std::move(means.y)});
    }
    panel.partial.push_back(std::move(points));
  }
}

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

/// A QQ plot of the estimates, because random effects are normal under the model.
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

CurvePanel panel_of(std::span<const Effect> effects, std::size_t& next, const FittedModel& model,
                    const RowSample* rows) {
  const Effect& first = effects[next];
  CurvePanel panel{
      .label = first.label, .title = first.title, .by = first.by, .curve = std::get<Curve>(first.shape)};
  std::vector<const Effect*> members{&first};
  ++next;
  if (!first.by_factor.empty() && panel.curve.lines.size() == 1) {
    const std::string stem = stem_of(first);
    panel.label = stem + first.by_factor;
    panel.title = panel.label;
    panel.curve.lines[0].level = first.by_level;
    for (; next < effects.size(); ++next) {
      const Effect& other = effects[next];
      const auto* curve = std::get_if<Curve>(&other.shape);
      if (curve == nullptr || other.by_factor != first.by_factor || stem_of(other) != stem ||
          curve->lines.size() != 1 || curve->x != panel.curve.x)
        break;
      panel.curve.lines.push_back({other.by_level, curve->lines[0].values});
      members.push_back(&other);
    }
    if (members.size() == 1) panel.title = first.title;
  }
  const bool by_level = members.size() == panel.curve.lines.size() && members.size() > 1;
  for (std::size_t i = 0; i < panel.curve.lines.size(); ++i) {
    const std::string& level = panel.curve.lines[i].level;
    panel.key.push_back(by_level ? fmt::format("{}, {:.2f}", level, members[i]->edf) : level);
  }
  if (rows != nullptr) add_rows(panel, members, model, *rows);
  return panel;
}

Interval extent_of(const CurvePanel& panel) {
  Interval range = no_interval;
  const double errors = has_bands(panel.curve) ? 2 : 0;
  for (const Curve::Line& line : panel.curve.lines) {
    for (const Estimate& one : line.values)
      range = {std::min(range.low, one.fit - errors * one.se),
               std::max(range.high, one.fit + errors * one.se)};
  }
  for (const CurvePanel::Points& points : panel.means.empty() ? panel.partial : panel.means) {
    for (const double y : points.y) range = {std::min(range.low, y), std::max(range.high, y)};
  }
  return range;
}

std::string curve_svg(const CurvePanel& panel, const DataOutline& outline, std::optional<Interval> y) {
  const Curve& curve = panel.curve;
  const Interval range = extent_of(panel);
  const std::size_t lines = curve.lines.size();
  const auto& first = curve.lines.front().values;
  const std::string description =
      lines == 1
          ? fmt::format(
                "{} at {} = {}, {} at {} = {}; between {} and {} with two standard errors either way{}.",
                number_text(first.front().fit), curve.variable, number_text(curve.x.front()),
                number_text(first.back().fit), curve.variable, number_text(curve.x.back()),
                number_text(range.low), number_text(range.high),
                panel.partial.empty() ? "" : " and partial residuals")
          : fmt::format("{} curves, one a level, between {} and {}.", lines, number_text(range.low),
                        number_text(range.high));
  const bool coloured = lines > 1 && has_bands(curve);
  const double above = coloured ? key_height(panel.key) : 0;
  Plot plot({panel.title, description}, {curve.variable, widened(ends_of(curve.x))},
            {standing_for(panel.title, panel.by), y ? *y : axis_of(range)},
            {PlotSize().width, PlotSize().height + above, above});
  for (const VariableOutline& variable : outline.variables) {
    if (!panel.rug.empty() || variable.name != curve.variable || variable.counts.empty()) continue;
    const std::vector<long long> counts(variable.counts.begin(), variable.counts.end());
    plot.strip(variable.min, variable.max, counts);
  }
  if (panel.rug.size() > longest_rug)
    plot.strip(curve.x.front(), curve.x.back(), counts_of(panel.rug, ends_of(curve.x)));
  else if (!panel.rug.empty())
    plot.rug(panel.rug);
  const auto style = [&](const char* mark, std::size_t line) {
    return coloured ? fmt::format("{} {}", mark, colour_style(line)) : std::string(mark);
  };
  const bool means = !panel.means.empty();
  const std::vector<CurvePanel::Points>& drawn = means ? panel.means : panel.partial;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    if (!drawn[i].x.empty())
      plot.points(drawn[i].x, drawn[i].y, style(means ? "points means" : "points partial", i));
  }
  for (std::size_t i = 0; i < lines; ++i) {
    if (!has_bands(curve)) break;
    std::vector<double> low;
    std::vector<double> high;
    for (const Estimate& one : curve.lines[i].values) {
      low.push_back(one.fit - 2 * one.se);
      high.push_back(one.fit + 2 * one.se);
    }
    plot.band(curve.x, low, high, style("band", i));
  }
  for (std::size_t i = 0; i < lines; ++i) {
    std::vector<double> fit;
    for (const Estimate& one : curve.lines[i].values) fit.push_back(one.fit);
    plot.line(curve.x, fit, has_bands(curve) ? style("line", i) : "line many");
  }
  if (coloured) plot.key(panel.key);
  return plot.svg();
}

std::string curve_csv(const CurvePanel& panel) {
  std::vector<std::string> level;
  std::vector<double> x;
  std::vector<double> fit;
  std::vector<double> se;
  for (const Curve::Line& line : panel.curve.lines) {
    for (std::size_t i = 0; i < line.values.size(); ++i) {
      level.push_back(line.level);
      x.push_back(panel.curve.x[i]);
      fit.push_back(line.values[i].fit);
      se.push_back(line.values[i].se);
    }
  }
  if (panel.curve.lines.front().level.empty())
    return csv_text({{panel.curve.variable, x}, {"fit", fit}, {"se", se}});
  return csv_text({{"level", level}, {panel.curve.variable, x}, {"fit", fit}, {"se", se}});
}

std::string partial_csv(const CurvePanel& panel) {
  std::vector<std::string> level;
  std::vector<double> x;
  std::vector<double> y;
  for (std::size_t i = 0; i < panel.partial.size(); ++i) {
    const CurvePanel::Points& points = panel.partial[i];
    level.insert(level.end(), points.x.size(), panel.curve.lines[i].level);
    x.insert(x.end(), points.x.begin(), points.x.end());
    y.insert(y.end(), points.y.begin(), points.y.end());
  }
  if (panel.curve.lines.front().level.empty())
    return csv_text({{panel.curve.variable, x}, {"partial_residual", y}});
  return csv_text({{"level", level}, {panel.curve.variable, x}, {"partial_residual", y}});
}

Places places_of(const Effect& effect, const Surface& surface, const RowSample& rows) {
  const auto* x = column_of(rows.variables, surface.x_variable);
  const auto* y = column_of(rows.variables, surface.y_variable);
  Places places;
  if (x == nullptr || y == nullptr) return places;
  for (const std::size_t row : rows_of(effect, rows)) {
    places.x.push_back(x->values[row]);
    places.y.push_back(y->values[row]);
  }
  return places;
}

Places places_of(const Surface& surface, const DataOutline& outline) {
  const auto cells = std::ranges::find_if(outline.occupancy, [&](const Occupancy& one) {
    return one.x == surface.x_variable && one.y == surface.y_variable;
  });
  Places places;
  if (cells == outline.occupancy.end()) return places;
  const auto range = [&](const std::string& name, const std::vector<double>& grid) {
    const auto found = std::ranges::find(outline.summaries, name, &VariableSummary::name);
    return found == outline.summaries.end() ? ends_of(grid) : Interval{found->least, found->greatest};
  };
  const Interval x = range(surface.x_variable, surface.x);
  const Interval y = range(surface.y_variable, surface.y);
  const auto middle = [](Interval interval, std::size_t part) {
    return interval.low +
           (interval.high - interval.low) * (static_cast<double>(part) + 0.5) / Occupancy::parts;
  };
  for (std::size_t j = 0; j < cells->cells.size(); ++j) {
    for (std::size_t i = 0; i < cells->cells[j].size(); ++i) {
      if (cells->cells[j][i] != '1') continue;
      places.x.push_back(middle(x, i));
      places.y.push_back(middle(y, j));
    }
  }
  return places;
}

Surface without_far(Surface surface, const Places& places) {
  constexpr double too_far = 0.1;
  constexpr double missing = std::numeric_limits<double>::quiet_NaN();
  const double width = surface.x.back() - surface.x.front();
  const double height = surface.y.back() - surface.y.front();
  for (std::size_t j = 0; j < surface.y.size(); ++j) {
    for (std::size_t i = 0; i < surface.x.size(); ++i) {
      bool near = false;
      for (std::size_t k = 0; k < places.x.size() && !near; ++k)
        near = std::hypot((surface.x[i] - places.x[k]) / width, (surface.y[j] - places.y[k]) / height) <=
               too_far;
      if (near) continue;
      surface.fit(static_cast<int>(i), static_cast<int>(j)) = missing;
      surface.se(static_cast<int>(i), static_cast<int>(j)) = missing;
    }
  }
  return surface;
}

Interval axis_of(Interval curves) {
  const Interval whole = widened(curves);
  return {whole.low - strip_share * (whole.high - whole.low), whole.high};
}

SurfacePictures surface_svg(const Effect& effect, const Surface& surface, const Places* places) {
  const Interval fit = range_of(surface.fit);
  const Interval se = range_of(surface.se);
  const double largest = std::max({std::abs(fit.low), std::abs(fit.high), 1e-300});
  const std::string over = fmt::format("over {} and {}", surface.x_variable, surface.y_variable);
  return {filled_svg({effect.title,
                      fmt::format("{}: from {} to {}.", over, number_text(fit.low), number_text(fit.high))},
                     surface, surface.fit, {-largest, largest}, signed_colours(), 8, places),
          filled_svg({effect.title + ", standard error",
                      fmt::format("{}: from {} to {}.", over, number_text(se.low), number_text(se.high))},
                     surface, surface.se, {0, std::max(se.high, 1e-300)}, rising_colours(), 4)};
}

std::string surface_csv(const Surface& surface) {
  std::vector<double> x;
  std::vector<double> y;
  for (const double one : surface.y) {
    x.insert(x.end(), surface.x.begin(), surface.x.end());
    y.insert(y.end(), surface.x.size(), one);
  }
  const auto numbers = [](const Matrix& matrix) {
    return std::vector<double>(matrix.values().begin(), matrix.values().end());
  };
  return csv_text({{surface.x_variable, x},
                   {surface.y_variable, y},
                   {"fit", numbers(surface.fit)},
                   {"se", numbers(surface.se)}});
}

std::string levels_csv(const Levels& levels) {
  std::vector<double> fit;
  std::vector<double> se;
  for (const Estimate& one : levels.values) {
    fit.push_back(one.fit);
    se.push_back(one.se);
  }
  return csv_text({{"level", levels.names}, {"fit", fit}, {"se", se}});
}

std::string levels_svg(const Effect& effect, const Levels& levels) {
  return levels.random && levels.names.size() > max_listed ? quantiles_svg(effect, levels)
                                                           : listed_svg(effect, levels);
}

}  // namespace TESSERA_NAMESPACE::gam
