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

/// Values from left to right, or from the bottom up. With categories, the i-th is [i, i + 1], from the left
/// or from the top down, and `values` is not used.
struct PlotAxis {
  std::string title;
  Interval values;
  std::vector<std::string> categories = {};
};

/// Size of the whole picture, in SVG units; a letter is about seven units wide.
struct PlotSize {
  double width = 360;
  double height = 264;
  double above = 0;  ///< space above the frame for a key; part of the height
};

/// One colour of a filled plot, and its rectangles: x from, x to, y from, y to.
struct PlotRectangle {
  double left, right, bottom, top;
};

/// The right margin that a scale of colours from the least to the largest value takes.
[[nodiscard]] double legend_margin(Interval values);
/// The room above the frame that a key to lines with these names takes.
[[nodiscard]] double key_height(std::span<const std::string> names);

/// Lines that have a colour of their own: styles k0, k1, …
inline constexpr std::size_t line_colours = 8;
[[nodiscard]] std::string colour_style(std::size_t line);

/// Fraction of a frame's height that a strip takes.
inline constexpr double strip_share = 0.1;

class Plot {
 public:
  Plot(PlotText text, PlotAxis x, PlotAxis y, PlotSize size = {}, double right_margin = 12);

  // Marks, in the order in which they are painted. Spans of one call have the same size.
  void band(std::span<const double> x, std::span<const double> low, std::span<const double> high,
            std::string_view style = "band");
  void line(std::span<const double> x, std::span<const double> y, std::string_view style = "line");
  /// Coinciding points are painted once.
  void points(std::span<const double> x, std::span<const double> y, std::string_view style = "points");
  void segment(double x1, double y1, double x2, double y2, std::string_view style);
  /// End points of segments, in pairs.
  void segments(std::span<const double> x, std::span<const double> y, std::string_view style);
  /// `colour` in CSS; empty: the style's own.
  void rectangles(std::span<const PlotRectangle> rectangles, std::string_view style,
                  std::string_view colour = {});
  /// Distribution of the data: bars on the x axis, with heights proportional to the counts, the highest
  /// `strip_share` of the frame; one for each of equal parts of [low, high].
  void strip(double low, double high, std::span<const long long> counts);
  /// Positions of individual rows: a short line on the x axis for each.
  void rug(std::span<const double> x);
  /// A text that starts at a position.
  void label(double x, double y, std::string_view text, std::string_view style = "tick");
  /// A colour scale in the right margin, a `legend_margin`, from the lowest up, with ticks.
  void legend(Interval values, std::span<const std::string> colours);
  /// Names of lines above the frame, where `key_height` leaves room, the i-th in `colour_style(i)`.
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
  // The frame.
  double left_, right_;
  double top_;
  double bottom_;
  std::string axes_;
  std::string marks_;
};

}  // namespace TESSERA_NAMESPACE::gam
