// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/report/ticks.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

/// An SVG plot: a frame with two axes, and marks in data coordinates. The style sheet plot.css sets colours
/// by class.
///
///     Plot plot({"s(x)", "A rising curve."}, {"x", {0, 1}}, {"s(x,4.2)", {-2, 2}});
///     plot.band(x, low, high);
///     plot.line(x, fit);
///     page += plot.svg();
namespace TESSERA_NAMESPACE::gam {

/// The SVG's <title> and <desc>, for screen readers.
struct PlotText {
  std::string title;
  std::string description;
};

/// A numeric axis runs rightwards or upwards. An axis of categories runs rightwards or downwards; category i
/// occupies [i, i + 1], and `values` is ignored.
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

struct PlotRectangle {
  double left, right, bottom, top;
};

/// Width of the right margin that `Plot::legend` needs for these values.
[[nodiscard]] double legend_margin(Interval values);
/// Height above the frame that `Plot::key` needs for these names.
[[nodiscard]] double key_height(std::span<const std::string> names);

/// Number of line colours: styles k0, k1, …
inline constexpr std::size_t line_colours = 8;
[[nodiscard]] std::string colour_style(std::size_t line);

/// Height of the tallest bar of `Plot::strip`, as a fraction of the frame's height.
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
  /// Elements 2i and 2i + 1 are the end points of segment i.
  void segments(std::span<const double> x, std::span<const double> y, std::string_view style);
  /// `colour`: a CSS colour; empty: the colour of the style class.
  void rectangles(std::span<const PlotRectangle> rectangles, std::string_view style,
                  std::string_view colour = {});
  /// A histogram on the x axis: `counts` of rows in equal bins of [low, high]. The tallest bar takes
  /// `strip_share` of the frame.
  void strip(double low, double high, std::span<const long long> counts);
  void rug(std::span<const double> x);
  void label(double x, double y, std::string_view text, std::string_view style = "tick");
  /// Draws a colour scale with ticks in the right margin, the least value at the bottom.
  void legend(Interval values, std::span<const std::string> colours);
  /// Draws a key above the frame: name i with a line of style `colour_style(i)`.
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
  // Edges of the frame, in SVG units.
  double left_, right_;
  double top_;
  double bottom_;
  std::string axes_;
  std::string marks_;
};

}  // namespace TESSERA_NAMESPACE::gam
