// SPDX-License-Identifier: Apache-2.0
// The plots of a report have the right axes, texts and marks.
#include "gam/report/contour.hpp"
#include "gam/report/figures.hpp"
#include "gam/report/normal_scores.hpp"
#include "gam/report/plot.hpp"
#include "gam/report/residual_plots.hpp"
#include "gam/report/term_plots.hpp"
#include "gam/report/text.hpp"
#include "gam/report/ticks.hpp"
#include "support/well_formed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using testing::xml_fault;
using Texts = std::vector<std::string>;

Texts labels(double low, double high, int count = 5) {
  return tick_labels(ticks(low, high, count)).texts;
}

TEST(Ticks, AreRoundNumbersInside) {
  EXPECT_EQ(ticks(0, 1), (std::vector<double>{0, 0.2, 0.4, 0.6, 0.8, 1}));
  EXPECT_TRUE(ticks(1, 1).empty());
  EXPECT_TRUE(ticks(-1e308, 1e308).empty());
  EXPECT_TRUE(ticks(0, 5e-324).empty());
  EXPECT_EQ(ticks(-0.07, 0.31), (std::vector<double>{0, 0.1, 0.2, 0.3}));
  EXPECT_EQ(ticks(1959, 1997.9), (std::vector<double>{1960, 1970, 1980, 1990}));
  EXPECT_EQ(ticks(-3.2, 4.1, 8), (std::vector<double>{-3, -2, -1, 0, 1, 2, 3, 4}));
}

TEST(Ticks, AreAtLeastTwoAndNotManyWhateverTheInterval) {
  for (const double width : {1e-12, 3e-7, 0.011, 0.99, 1.0, 1.01, 7.3, 12345.6, 8e15}) {
    for (const double low : {-7.7, 0.0, 1e-3, 99.95, -1e9}) {
      if (width < 1e-12 * std::abs(low)) continue;  // a few doubles wide
      for (const int count : {2, 5, 8, 30}) {
        const auto found = ticks(low, low + width, count);
        EXPECT_GE(found.size(), 2U) << low << " + " << width;
        EXPECT_LE(found.size(), 2U * static_cast<unsigned>(count) + 2) << low << " + " << width;
        EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
        const double slack = 1e-8 * width + 1e-15 * std::abs(low);
        EXPECT_GE(found.front(), low - slack);
        EXPECT_LE(found.back(), low + width + slack);
      }
    }
  }
}

TEST(Ticks, HaveLabelsThatTellThemApart) {
  EXPECT_EQ(labels(0, 1), (Texts{"0.0", "0.2", "0.4", "0.6", "0.8", "1.0"}));
  EXPECT_EQ(labels(-1, 1), (Texts{"\u22121.0", "\u22120.5", "0.0", "0.5", "1.0"}));
  EXPECT_EQ(labels(100000, 100001, 2), (Texts{"100000.0", "100000.5", "100001.0"}));
  for (const double low : {0.0, 1234567.0, -5e-9}) {
    auto texts = labels(low, low + 3);
    EXPECT_EQ(std::unique(texts.begin(), texts.end()), texts.end()) << low;
  }
}

TEST(Ticks, HaveAPowerOfTenWhereTheyAreVerySmallOrLarge) {
  TickLabels found = tick_labels(ticks(0, 2e-8));
  EXPECT_EQ(found.texts, (Texts{"0.0", "0.5", "1.0", "1.5", "2.0"}));
  EXPECT_EQ(found.power, -8);
  found = tick_labels(ticks(-1e9, 1.5e9));
  EXPECT_EQ(found.texts, (Texts{"\u22121.0", "\u22120.5", "0.0", "0.5", "1.0", "1.5"}));
  EXPECT_EQ(found.power, 9);
  found = tick_labels(std::vector<double>{-1.7e308, 1.7e308});
  EXPECT_EQ(found.texts, (Texts{"\u22121.7", "1.7"}));
  EXPECT_EQ(found.power, 308);
  EXPECT_EQ(tick_labels(ticks(0, 1000)).power, 0);
  EXPECT_EQ(power_text(-18), "\u00d710\u207b\u00b9\u2078");
  EXPECT_EQ(power_text(0), "");
}

TEST(Widened, IsAnAxisForASingleValueToo) {
  for (const double value : {0.0, 5.0, -1e-3}) {
    const Interval axis = widened({value, value});
    EXPECT_LT(axis.low, value);
    EXPECT_GT(axis.high, value);
  }
}

TEST(ReportText, EscapesWhatIsMarkupOrNoText) {
  EXPECT_EQ(escaped("a<b & \"c\" 'd' > e"), "a&lt;b &amp; &quot;c&quot; &#39;d&#39; &gt; e");
  EXPECT_EQ(escaped("Käse \u2212 \U0001F9C0"), "Käse \u2212 \U0001F9C0");
  EXPECT_EQ(escaped("K\xE4se"), "K\uFFFDse") << "Latin-1";
  EXPECT_EQ(escaped("\xC0\xAF"), "\uFFFD\uFFFD") << "an overlong slash";
  EXPECT_EQ(escaped("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD") << "a surrogate";
  EXPECT_EQ(escaped("cut \xE2\x88"), "cut \uFFFD\uFFFD") << "an end in the middle";
  EXPECT_EQ(escaped(std::string_view("nul \0 and \x1b[0m", 14)), "nul \uFFFD and \uFFFD[0m");
}

TEST(ReportText, CountsAndShortensByCharacters) {
  EXPECT_EQ(shortened("Käsekuchen", 10), "Käsekuchen");
  EXPECT_EQ(shortened("Käsekuchen", 4), "Käs\u2026");
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1000), "1,000");
  EXPECT_EQ(count_text(1234567), "1,234,567");
  EXPECT_EQ(number_text(-1.5e-7), "\u22121.5e\u221207");
}

TEST(Normal, QuantilesAreThoseOfTheTables) {
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-9);
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-8);
  EXPECT_NEAR(normal_quantile(1e-6), -4.753424308822899, 1e-8);
}

// The points of every path: the numbers after M and L, and h or v as moves from there.
struct Place {
  double x, y;
};
std::vector<Place> places(const std::string& svg, const std::string& style) {
  std::vector<Place> found;
  const std::string start = "<path class=\"" + style + "\"";
  for (std::size_t at = 0; (at = svg.find(start, at)) != std::string::npos; ++at) {
    const std::size_t begin = svg.find(" d=\"", at) + 4;
    const std::string path = svg.substr(begin, svg.find('"', begin) - begin);
    for (std::size_t i = 0; i < path.size(); ++i) {
      if (path[i] != 'M' && path[i] != 'L') continue;
      char* end = nullptr;
      const double x = std::strtod(path.c_str() + i + 1, &end);
      found.push_back({x, std::strtod(end, nullptr)});
    }
  }
  return found;
}

struct Box {
  double left, top, right, bottom;
};
Box frame_of(const std::string& svg) {
  const auto number = [&](const std::string& name) {
    const std::size_t at = svg.find(name + "=\"", svg.find("class=\"frame\""));
    return std::strtod(svg.c_str() + at + name.size() + 2, nullptr);
  };
  const double left = number(" x");
  const double top = number(" y");
  return {left, top, left + number(" width"), top + number(" height")};
}

void expect_inside(const std::string& svg, const std::string& style, std::size_t at_least) {
  const Box frame = frame_of(svg);
  const auto found = places(svg, style);
  EXPECT_GE(found.size(), at_least) << style;
  for (const Place& place : found) {
    EXPECT_GE(place.x, frame.left - 0.1) << style;
    EXPECT_LE(place.x, frame.right + 0.1) << style;
    EXPECT_GE(place.y, frame.top - 0.1) << style;
    EXPECT_LE(place.y, frame.bottom + 0.1) << style;
  }
}

TEST(Plot, PutsMarksWhereTheAxesSay) {
  Plot plot({"<t>", "d & d"}, {"x", {0, 10}}, {"y", {-1, 1}});
  plot.line(std::vector<double>{0, 10, 5}, std::vector<double>{-1, 1, 0});
  const std::string svg = plot.svg();
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_NE(svg.find("<title>&lt;t&gt;</title><desc>d &amp; d</desc>"), std::string::npos) << svg;
  EXPECT_NE(svg.find("role=\"img\""), std::string::npos);
  const Box frame = frame_of(svg);
  const auto line = places(svg, "line");
  ASSERT_EQ(line.size(), 3U);
  EXPECT_NEAR(line[0].x, frame.left, 0.11);
  EXPECT_NEAR(line[0].y, frame.bottom, 0.11);
  EXPECT_NEAR(line[1].x, frame.right, 0.11);
  EXPECT_NEAR(line[1].y, frame.top, 0.11);
  EXPECT_NEAR(line[2].x, (frame.left + frame.right) / 2, 0.11);
  EXPECT_NEAR(line[2].y, (frame.top + frame.bottom) / 2, 0.11);
}

TEST(Plot, PaintsAPlaceOnce) {
  Plot plot({}, {"x", {0, 1}}, {"y", {0, 1}});
  plot.points(std::vector<double>(1000, 0.25), std::vector<double>(1000, 0.5));
  EXPECT_EQ(places(plot.svg(), "points").size(), 1U);
}

/// A sine over [0, 4.9], several standard errors wide.
CurvePanel panel_of_sines(std::size_t lines, double scale = 1) {
  CurvePanel panel{.label = "s(x<1)", .title = "s(x<1,3.00)", .by = {}, .curve = {"x<1", {}, {}}};
  for (int i = 0; i < 50; ++i) panel.curve.x.push_back(i / 10.0);
  for (std::size_t l = 0; l < lines; ++l) {
    Curve::Line& line = panel.curve.lines.emplace_back();
    if (lines > 1) line.level = "<" + std::to_string(l) + ">";
    panel.key.push_back(line.level);
    for (int i = 0; i < 50; ++i)
      line.values.push_back({scale * std::sin(i / 10.0 + static_cast<double>(l)), scale * (0.1 + i / 500.0)});
  }
  return panel;
}

TEST(CurvePlot, HasItsBandAndTheRowsInsideTheFrame) {
  DataOutline outline;
  outline.variables.push_back({"x<1", 0, 4.9, {0, 5, 20, 1}});
  CurvePanel panel = panel_of_sines(1);
  panel.by = "z";
  const std::string svg = curve_svg(panel, outline, {});
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_NE(svg.find(">s(x&lt;1,3.00), at z = 1</text>"), std::string::npos) << svg;
  expect_inside(svg, "line", 50);
  expect_inside(svg, "band", 100);
  expect_inside(svg, "strip", 3);
  // The strip is below the band.
  double lowest = 0;
  for (const Place& place : places(svg, "band")) lowest = std::max(lowest, place.y);
  for (const Place& place : places(svg, "strip")) EXPECT_GT(place.y, lowest);
}

TEST(CurvePlot, HasAColourAndAKeyForEachOfAFewLines) {
  const std::string svg = curve_svg(panel_of_sines(3), {}, {});
  EXPECT_EQ(xml_fault(svg), "");
  const Box frame = frame_of(svg);
  for (const char* line : {"line k0", "line k1", "line k2"}) {
    // The curve, and its sample in the key above the frame.
    const auto found = places(svg, line);
    ASSERT_EQ(found.size(), 51U) << line;
    EXPECT_LT(found.back().y, frame.top) << line;
  }
  for (const char* band : {"band k0", "band k1", "band k2"}) expect_inside(svg, band, 100);
  EXPECT_NE(svg.find(">&lt;2&gt;</text>"), std::string::npos);
  const std::string many = curve_svg(panel_of_sines(line_colours + 1), {}, {});
  EXPECT_EQ(places(many, "line many").size(), 50U * (line_colours + 1));
  EXPECT_EQ(many.find("class=\"band"), std::string::npos);
}

TEST(CurvePlot, IsReadableWhateverItsSize) {
  for (const double scale : {1e-8, 1.0, 1e9, 1e300}) {
    const std::string svg = curve_svg(panel_of_sines(1, scale), {}, {});
    expect_inside(svg, "line", 50);
    const Box frame = frame_of(svg);
    EXPECT_GT(frame.right - frame.left, 250) << scale;
    EXPECT_EQ(svg.find(scale == 1e-8  ? ">\u00d710\u207b\u2078</text>"
                       : scale == 1e9 ? ">\u00d710\u2079</text>"
                                      : "</svg>") == std::string::npos,
              false)
        << svg;
  }
  // Labels of an x axis that is far from zero do not overlap.
  CurvePanel far = panel_of_sines(1);
  for (double& x : far.curve.x) x = 5e9 + x;
  const std::string svg = curve_svg(far, {}, {});
  double last = -1;
  const std::string start = "<text class=\"tick\" x=\"";
  for (std::size_t at = 0; (at = svg.find(start, at)) != std::string::npos; ++at) {
    const double x = std::strtod(svg.c_str() + at + start.size(), nullptr);
    if (svg.find("\"middle\"", at) > svg.find('>', at)) continue;
    const std::size_t text = svg.find('>', at) + 1;
    const double half = 3 * static_cast<double>(length_of(svg.substr(text, svg.find('<', text) - text)));
    EXPECT_GT(x - half, last);
    last = x + half;
  }
  EXPECT_GT(last, 0);
}

TEST(CurvePlot, ShowsPartialResidualsAndWhereTheirRowsLie) {
  CurvePanel panel = panel_of_sines(2);
  for (int l = 0; l < 2; ++l) {
    panel.partial.push_back({{0.5, 2.5, 4.5}, {1.0 + l, -2, 0.5}});
    panel.rug.insert(panel.rug.end(), {0.5, 2.5, 4.5});
  }
  std::string svg = curve_svg(panel, {}, {});
  EXPECT_EQ(xml_fault(svg), "");
  expect_inside(svg, "points partial k0", 3);
  expect_inside(svg, "points partial k1", 3);
  expect_inside(svg, "rug", 3);
  EXPECT_EQ(partial_csv(panel),
            "level,x<1,partial_residual\n\"<0>\",0.5,1\n\"<0>\",2.5,-2\n\"<0>\",4.5,0.5\n"
            "\"<1>\",0.5,2\n\"<1>\",2.5,-2\n\"<1>\",4.5,0.5\n");
  EXPECT_EQ(extent_of(panel).high, 2);
  // Means replace residuals that lie on curves, and counts replace many rows.
  panel.means = {{{2.5}, {0}}, {{2.5}, {0.1}}};
  panel.rug.assign(601, 1.0);
  svg = curve_svg(panel, {}, {});
  EXPECT_EQ(places(svg, "points partial k0").size(), 0U);
  expect_inside(svg, "points means k1", 1);
  EXPECT_EQ(places(svg, "rug").size(), 0U);
  expect_inside(svg, "strip", 1);
}

TEST(CurvePlot, HasItsNumbersAsCsv) {
  const std::string csv = curve_csv(panel_of_sines(1));
  EXPECT_TRUE(csv.starts_with("x<1,fit,se\n0,0,0.10000000000000001\n")) << csv;
  EXPECT_EQ(std::ranges::count(csv, '\n'), 51);
}

TEST(LevelsPlot, ListsAFewAndShowsQuantilesOfMany) {
  Levels levels;
  levels.random = true;
  for (int i = 0; i < 40; ++i) {
    levels.names.push_back("<" + std::to_string(i) + ">");
    levels.values.push_back({std::cos(i), 0.3});
  }
  const Effect effect{"s(g)", "s(g,9.00)", {}, levels};
  std::string svg = levels_svg(effect, levels);
  EXPECT_EQ(xml_fault(svg), "");
  expect_inside(svg, "estimates", 40);
  expect_inside(svg, "interval", 80);
  EXPECT_LT(svg.find("&lt;0&gt;</text>"), svg.find("&lt;3&gt;</text>")) << "the largest effect is on top";
  levels.names.emplace_back("one more");
  levels.values.push_back({0.5, 0.3});
  svg = levels_svg(effect, levels);
  EXPECT_EQ(xml_fault(svg), "");
  expect_inside(svg, "points", 38);
  expect_inside(svg, "reference", 2);
}

TEST(SurfacePlot, FillsItsFrame) {
  Surface surface{"x", "z", {0, 1, 2, 3}, {0, 10, 20}, Matrix(4, 3), Matrix(4, 3)};
  for (int j = 0; j < 3; ++j) {
    for (int i = 0; i < 4; ++i) {
      surface.fit(i, j) = i - j;
      surface.se(i, j) = 1 + i * j;
    }
  }
  const Effect effect{"te(x,z)", "te(x,z,4.00)", {}, surface};
  const SurfacePictures pictures = surface_svg(effect, surface);
  for (const std::string& svg : {pictures.estimate, pictures.standard_error}) {
    EXPECT_EQ(xml_fault(svg), "");
    expect_inside(svg, "contour", 4);
    expect_inside(svg, "cells", 4);
    // Cells start at all corners of the frame except the last one of their path.
    const Box frame = frame_of(svg);
    const auto cells = places(svg, "cells");
    EXPECT_TRUE(std::any_of(cells.begin(), cells.end(), [&](const Place& place) {
      return std::abs(place.x - frame.left) < 0.11 && std::abs(place.y - frame.top) < 0.11;
    }));
  }
}

TEST(SurfacePlot, EndsWhereThereAreNoRows) {
  Surface surface{"x", "z", {}, {}, Matrix(11, 11), Matrix(11, 11)};
  for (int i = 0; i <= 10; ++i) {
    surface.x.push_back(100 * i);
    surface.y.push_back(0.1 * i);
    for (int j = 0; j <= 10; ++j) surface.fit(i, j) = i + j;
  }
  // Within a tenth of the extent in either direction.
  const Surface cut = without_far(surface, {{500}, {0.5}});
  const auto is_there = [&](int i, int j) { return !std::isnan(cut.fit(i, j)) && !std::isnan(cut.se(i, j)); };
  EXPECT_TRUE(is_there(5, 5) && is_there(4, 5) && is_there(6, 5));
  EXPECT_FALSE(is_there(4, 4) || is_there(7, 5) || is_there(5, 7));
  const Places places_in{{500}, {0.5}};
  const std::string svg = surface_svg({"te(x,z)", "te(x,z,4.00)", {}, cut}, cut, &places_in).estimate;
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  expect_inside(svg, "places", 1);
  EXPECT_LE(places(svg, "cells").size(), 5U) << "a rectangle a run of equal colours";
  EXPECT_NE(surface_csv(cut).find("\n0,0,NA,NA\n"), std::string::npos);
  EXPECT_EQ(
      surface_svg({"te(x,z)", "t", {}, surface}, without_far(surface, {{1e9}, {1}})).estimate.find("nan"),
      std::string::npos);
}

TEST(SurfacePlot, HasThePlacesOfCellsThatHoldRows) {
  const Surface surface{"x", "z", {0, 8}, {-1, 1}, Matrix(2, 2), Matrix(2, 2)};
  DataOutline outline;
  EXPECT_TRUE(places_of(surface, outline).x.empty());
  Occupancy& cells = outline.occupancy.emplace_back();
  cells.x = "x";
  cells.y = "z";
  cells.cells.assign(Occupancy::parts, std::string(Occupancy::parts, '0'));
  cells.cells[0][1] = '1';
  outline.summaries.push_back({.name = "x", .least = 0, .median = 1, .greatest = 40});
  const Places found = places_of(surface, outline);
  EXPECT_EQ(found.x, (std::vector<double>{1.5}));
  EXPECT_EQ(found.y, (std::vector<double>{-1 + 0.5 * 2 / 40})) << "by the ends of the surface";
}

TEST(SurfacePlot, HasRoomForTheLabelsOfItsColours) {
  for (const double scale : {1e-7, 1.0, 12345.0}) {
    Surface surface{"x", "z", {0, 1}, {0, 1}, Matrix(2, 2), Matrix(2, 2)};
    surface.fit(0, 0) = -scale;
    surface.fit(1, 1) = scale;
    const std::string svg = surface_svg({"te(x,z)", "te(x,z,4.00)", {}, surface}, surface).estimate;
    const double width = std::strtod(svg.c_str() + svg.find("viewBox=\"0 0 ") + 13, nullptr);
    const double frame = frame_of(svg).right;
    int labels = 0;
    const std::string start = "<text class=\"tick\" x=\"";
    for (std::size_t at = 0; (at = svg.find(start, at)) != std::string::npos; ++at) {
      const double left = std::strtod(svg.c_str() + at + start.size(), nullptr);
      if (left <= frame || svg.find("text-anchor", at) < svg.find('>', at)) continue;
      const std::size_t text = svg.find('>', at) + 1;
      const auto length = static_cast<double>(length_of(svg.substr(text, svg.find('<', text) - text)));
      EXPECT_LE(left + 6.5 * length, width) << scale;
      ++labels;
    }
    EXPECT_GE(labels, 3) << scale;
  }
}

TEST(SurfacePlot, OfAConstantHasNoContour) {
  const Surface surface{"x", "z", {0, 1}, {0, 1}, Matrix(2, 2), Matrix(2, 2)};
  const SurfacePictures pictures = surface_svg({"te(x,z)", "te(x,z,0.00)", {}, surface}, surface);
  EXPECT_EQ(xml_fault(pictures.estimate), "");
  EXPECT_EQ(pictures.estimate.find("contour"), std::string::npos);
}

TEST(Contour, IsACircleOfADome) {
  std::vector<double> places;
  for (int i = 0; i <= 40; ++i) places.push_back(-1 + i / 20.0);
  Matrix dome(41, 41);
  for (int j = 0; j <= 40; ++j) {
    for (int i = 0; i <= 40; ++i) {
      dome(i, j) =
          std::pow(places[static_cast<std::size_t>(i)], 2) + std::pow(places[static_cast<std::size_t>(j)], 2);
    }
  }
  const Segments circle = contour(places, places, dome, 0.5);
  ASSERT_GT(circle.x.size(), 100U);
  double length = 0;
  for (std::size_t i = 0; i < circle.x.size(); i += 2) {
    EXPECT_NEAR(std::hypot(circle.x[i], circle.y[i]), std::sqrt(0.5), 1e-3);
    length += std::hypot(circle.x[i + 1] - circle.x[i], circle.y[i + 1] - circle.y[i]);
  }
  EXPECT_NEAR(length, 2 * std::numbers::pi * std::sqrt(0.5), 0.01);
  EXPECT_TRUE(contour(places, places, dome, 3).x.empty());
}

TEST(Contour, GoesThroughASaddleAsTheMeanOfItsCornersSays) {
  const std::vector<double> ends{0, 1};
  Matrix saddle(2, 2);
  saddle(0, 0) = saddle(1, 1) = 1;
  for (const double other : {-0.5, -2.0}) {
    saddle(0, 1) = saddle(1, 0) = other;
    const Segments pieces = contour(ends, ends, saddle, 0);
    ASSERT_EQ(pieces.x.size(), 4U);
    // High corners are connected if the mean is high: each piece then cuts off a low corner, x > y or x < y.
    const bool joined = other > -1;
    const double side = (pieces.x[0] - pieces.y[0]) * (pieces.x[1] - pieces.y[1]);
    EXPECT_EQ(side > 0, joined) << other;
  }
}

TEST(ResidualPlots, HaveEveryRowInsideTheFrame) {
  std::vector<double> eta;
  std::vector<double> residuals;
  for (int i = 0; i < 300; ++i) {
    eta.push_back(i % 17 / 3.0);
    residuals.push_back(2 * normal_quantile((i * 7 % 300 + 0.5) / 300));
  }
  const std::string quantiles = residual_qq_plot("deviance", residuals, 4).svg;
  EXPECT_EQ(xml_fault(quantiles), "");
  expect_inside(quantiles, "points", 250);
  expect_inside(quantiles, "band", 100);
  // Residuals that are normal with the scale lie on the line.
  const auto line = places(quantiles, "reference");
  const auto points = places(quantiles, "points");
  ASSERT_EQ(line.size(), 2U);
  for (const Place& point : points) {
    const double share = (point.x - line[0].x) / (line[1].x - line[0].x);
    EXPECT_NEAR(point.y, line[0].y + share * (line[1].y - line[0].y), 0.25);
  }
  const std::string scatter = residual_scatter("deviance", "eta", "eta", eta, residuals).svg;
  EXPECT_EQ(xml_fault(scatter), "");
  expect_inside(scatter, "points single", 280);
  expect_inside(scatter, "line expected", 17);
  expect_inside(scatter, "band expected", 34);
  const std::string observed = observed_scatter(eta, residuals).svg;
  EXPECT_EQ(xml_fault(observed), "");
  expect_inside(observed, "points single", 280);
  expect_inside(observed, "reference", 2);
  expect_inside(observed, "estimates expected", 17);
  const std::string histogram = residual_histogram("deviance", residuals).svg;
  EXPECT_EQ(xml_fault(histogram), "");
  expect_inside(histogram, "bars", 8);
}

/// "Of 31 means of groups of rows 7 are farther …"
int means_outside(const std::string& svg) {
  const std::string before = " means of groups of rows ";
  return std::atoi(svg.c_str() + svg.find(before) + before.size());
}

TEST(ResidualPlots, ShowAPatternInANumberByMeansOutsideTheirBand) {
  std::vector<double> x;
  std::vector<double> noise;
  std::vector<double> pattern;
  for (int i = 0; i < 1000; ++i) {
    x.push_back(std::fmod(i * 0.6180339887498949, 1.0));
    noise.push_back(normal_quantile(std::fmod((i + 0.5) * 0.7548776662466927, 1.0)));
    pattern.push_back(noise.back() + std::sin(9 * x.back()));
  }
  const Picture none = residual_scatter("deviance", "x", "x", x, noise);
  EXPECT_NE(none.svg.find("Of 31 means"), std::string::npos) << none.svg.substr(0, 600);
  EXPECT_LE(means_outside(none.svg), 4);
  EXPECT_GE(means_outside(residual_scatter("deviance", "x", "x", x, pattern).svg), 15);
  EXPECT_TRUE(none.csv.starts_with("x,mean_residual,rows,lower,upper\n"));
  EXPECT_EQ(std::ranges::count(none.csv, '\n'), 32);
  EXPECT_EQ(std::ranges::count(none.points, '\n'), 1001);
}

TEST(ResidualPlots, HaveABoxForEachLevel) {
  // R: boxplot.stats(c(1, 2, 3, 4, 20)) has the whiskers 1 and 4; quantile() 2, 3 and 4.
  const std::vector<double> residuals{1, 2, 3, 4, 20, -1, -2};
  const std::vector<double> codes{0, 0, 0, 0, 0, 2, 2};
  const std::vector<std::string> levels{"<a>", "b", "c"};
  const Picture boxes = residual_boxes("quantile", "f", levels, codes, residuals);
  EXPECT_EQ(xml_fault(boxes.svg), "");
  expect_inside(boxes.svg, "bars", 2);
  expect_inside(boxes.svg, "points single", 1);
  expect_inside(boxes.svg, "estimates expected", 2);
  EXPECT_EQ(boxes.svg.find(">b</text>"), std::string::npos) << "no row has it";
  EXPECT_NE(boxes.csv.find("\"<a>\",5,6,"), std::string::npos) << boxes.csv;
  EXPECT_NE(boxes.csv.find(",1,2,3,4,4\n"), std::string::npos) << boxes.csv;
  EXPECT_NE(boxes.csv.find(",-2,-1.75,-1.5,-1.25,-1\n"), std::string::npos) << boxes.csv;
  EXPECT_TRUE(boxes.points.ends_with("\n\"c\",-1\n\"c\",-2\n")) << boxes.points;
}

TEST(ResidualPlots, HaveBoxesOfTheFarthestOfManyLevels) {
  std::vector<std::string> levels;
  std::vector<double> codes;
  std::vector<double> residuals;
  for (int level = 0; level < 100; ++level) {
    levels.push_back("l" + std::to_string(level));
    for (int i = 0; i < 3; ++i) {
      codes.push_back(level);
      residuals.push_back((level % 7 == 0 ? 5 : 0.01 * level) * (level % 2 == 0 ? 1 : -1) + i - 1);
    }
  }
  const Picture boxes = residual_boxes("deviance", "g", levels, codes, residuals);
  EXPECT_EQ(xml_fault(boxes.svg), "");
  EXPECT_EQ(std::ranges::count(boxes.csv, '\n'), 41);
  for (const char* level : {"l0", "l7", "l98", "l99"})
    EXPECT_NE(boxes.csv.find("\n\"" + std::string(level) + "\","), std::string::npos) << level;
  EXPECT_EQ(boxes.csv.find("\"l1\","), std::string::npos);
  EXPECT_LT(boxes.csv.find("\"l7\""), boxes.csv.find("\"l98\"")) << "in their order";
}

TEST(ResidualPlots, HaveABarForEachLag) {
  const std::vector<double> autocorrelation{0.5, -0.3, 0.1, 0};
  const std::string svg = residual_autocorrelation("standardised", autocorrelation, 400).svg;
  EXPECT_EQ(xml_fault(svg), "");
  expect_inside(svg, "bars", 4);
  EXPECT_EQ(places(svg, "reference").size(), 4U);
  EXPECT_NE(svg.find("standardised residuals at lags 1 to 4"), std::string::npos);
}

TEST(ResidualPlots, AreThereForTwoEqualResiduals) {
  const std::vector<double> zero(2);
  for (const std::string& svg :
       {residual_qq_plot("deviance", zero, 0).svg, residual_scatter("deviance", "x", "x", zero, zero).svg,
        residual_boxes("deviance", "f", std::vector<std::string>{"a"}, zero, zero).svg,
        observed_scatter(zero, zero).svg, residual_histogram("deviance", zero).svg,
        residual_autocorrelation("standardised", zero, 2).svg}) {
    EXPECT_EQ(xml_fault(svg), "");
    EXPECT_EQ(svg.find("nan"), std::string::npos);
  }
}

TEST(FigureNames, AreOfPlainLettersAndNoTwoAlike) {
  std::vector<std::string> taken;
  EXPECT_EQ(figure_name("s(x):fa", taken), "s_x_fa");
  EXPECT_EQ(figure_name("s(X):fA", taken), "s_X_fA-2");
  EXPECT_EQ(figure_name("te(log(x), ../../z)", taken), "te_log_x_.._.._z") << "no path";
  EXPECT_EQ(figure_name("../..", taken), "figure");
  EXPECT_EQ(figure_name("K\u00e4se", taken), "K_se");
  EXPECT_EQ(figure_name(std::string(300, 'a'), taken).size(), 80U);
}

TEST(StandaloneSvg, HasColoursAndASizeOfItsOwn) {
  Plot plot({"t", "d"}, {"x", {0, 1}}, {"y", {0, 1}});
  plot.segment(0, 0, 1, 1, "line");
  const std::string svg = standalone_svg(plot.svg());
  EXPECT_TRUE(svg.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns="));
  EXPECT_EQ(xml_fault(svg.substr(svg.find("<svg"))), "");
  EXPECT_NE(svg.find("width=\"540\" height=\"396\""), std::string::npos);
  EXPECT_EQ(svg.find("var("), std::string::npos);
  EXPECT_EQ(svg.find("--"), std::string::npos);
  EXPECT_NE(svg.find(".line { fill: none; stroke: #1f4f86;"), std::string::npos);
  EXPECT_GT(svg.find(".line { fill: none; stroke: #8fbcf0;"), svg.find("prefers-color-scheme: dark"));
}

TEST(Csv, QuotesTextsAndNamesThatNeedIt) {
  EXPECT_EQ(csv_text({{"a,\"b", std::vector<double>{0.1, std::nan("")}},
                      {"c", std::vector<std::string>{"x\"y", ""}}}),
            "\"a,\"\"b\",c\n0.10000000000000001,\"x\"\"y\"\nNA,\"\"\n");
}

TEST(XmlFault, FindsWhatItIsFor) {
  for (const char* bad : {"<a>", "<a></b>", "<a b=c/>", "<a b=\"1\" b=\"2\"/>", "a & b", "a > b",
                          "<p>1 < 2</p>", "<a b=\"<\"/>", "\x01"}) {
    EXPECT_NE(xml_fault(bad), "") << bad;
  }
  EXPECT_EQ(xml_fault("<a b=\"1\"><c/>x &amp; y</a>"), "");
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
