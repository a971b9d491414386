// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/report/ticks.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

/// A plot as SVG: a frame with two axes, and marks in the axes' own units. Colours come from the page's style
/// sheet, by class.
///
///     Plot plot({"s(x)", "A rising curve."}, {"x", {0, 1}}, {"s(x,4.2)", {-2, 2}});
///     plot.band(x, low, high);
///     plot.line(x, fit);
///     page += plot.svg();
namespace TESSERA_NAMESPACE::gam {

/// Texts that replace a plot for readers who cannot see it.
struct PlotText {
  std::string title;
  std::string description;
};

/// An axis of numbers runs from left to right or from the bottom up. An axis of categories runs from left to
/// right or from the top down; category i occupies [i, i + 1], and `values` is not used.
struct PlotAxis {
  std::string title;
  Interval values;
  std::vector<std::string> categories = {};
};

/// Size of the picture in SVG units. A letter is about seven units wide.
struct PlotSize {
  double width = 360;
  double height = 264;
  double above = 0;  ///< space above the frame for a key; included in the height
};

/// A rectangle of a filled plot, by its ends in x and in y.
struct PlotRectangle {
  double left, right, bottom, top;
};

/// Width of the right margin for a scale of colours from the least to the largest value.
[[nodiscard]] double legend_margin(Interval values);
/// Height of the space above the frame for a key of lines with these names.
[[nodiscard]] double key_height(std::span<const std::string> names);

/// Number of line colours: styles k0, k1, …
inline constexpr std::size_t line_colours = 8;
[[nodiscard]] std::string colour_style(std::size_t line);

/// Height of a strip, as a fraction of the frame's height.
inline constexpr double strip_share = 0.1;

class Plot {
 public:
  Plot(PlotText text, PlotAxis x, PlotAxis y, PlotSize size = {}, double right_margin = 12);

  // Marks are painted in the order of the calls. The spans of one call must have the same size.
  void band(std::span<const double> x, std::span<const double> low, std::span<const double> high,
            std::string_view style = "band");
  void line(std::span<const double> x, std::span<const double> y, std::string_view style = "line");
  /// Points that coincide are painted once.
  void points(std::span<const double> x, std::span<const double> y, std::string_view style = "points");
  void segment(double x1, double y1, double x2, double y2, std::string_view style);
  /// Draws segments, given as pairs of end points.
  void segments(std::span<const double> x, std::span<const double> y, std::string_view style);
  /// `colour` in CSS; empty: the colour of the style.
  void rectangles(std::span<const PlotRectangle> rectangles, std::string_view style,
                  std::string_view colour = {});
  /// Shows the distribution of the data by bars on the x axis, one for each of the equal parts of [low,
  /// high]; heights are proportional to the counts, and the highest bar takes `strip_share` of the frame.
  void strip(double low, double high, std::span<const long long> counts);
  /// Shows the positions of individual rows by short lines on the x axis.
  void rug(std::span<const double> x);
  /// Writes a text that starts at a position.
  void label(double x, double y, std::string_view text, std::string_view style = "tick");
  /// Draws a colour scale with ticks in the right margin (`legend_margin`), the colour of the least value at
  /// the bottom.
  void legend(Interval values, std::span<const std::string> colours);
  /// Writes the names of lines above the frame, in the space of `key_height`; the i-th in `colour_style(i)`.
  void key(std::span<const std::string> names);

  [[nodiscard]] std::string svg() const;

 private:
  [[nodiscard]] double across(double x) const;
  [[nodiscard]] double down(double y) const;
  void axes();
  void x_ticks();
  void y_ticks();

  PlotText text_;
  PlotAxis x_;
  PlotAxis y_;
  PlotSize size_;
  // Edges of the frame.
  double left_, right_;
  double top_;
  double bottom_;
  std::string axes_;
  std::string marks_;
};

}  // namespace TESSERA_NAMESPACE::gam
