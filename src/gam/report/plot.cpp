// SPDX-License-Identifier: Apache-2.0
#include "gam/report/plot.hpp"

#include "gam/report/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

namespace tessera::gam {
namespace {

constexpr double letter = 6.9;  ///< width of an average letter of a tick's label
constexpr double tick_length = 4;
constexpr std::size_t longest_category = 26;

/// A coordinate to a tenth.
std::string px(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

/// Room for the labels of the ticks of an axis of values.
double label_room(Interval values) {
  std::size_t longest = 0;
  for (const std::string& label : tick_labels(ticks(values.low, values.high)))
    longest = std::max(longest, length_of(label));
  return letter * static_cast<double>(longest);
}

/// Room for the labels of the y axis.
double label_room(const PlotAxis& axis) {
  if (axis.categories.empty()) return label_room(axis.values);
  std::size_t longest = 0;
  for (const std::string& name : axis.categories) {
    longest = std::max(longest, std::min(length_of(name), longest_category));
  }
  return letter * static_cast<double>(longest);
}

/// Of a scale of colours, from the frame.
constexpr double legend_gap = 12;
constexpr double legend_width = 10;
constexpr double legend_tick = 3;

}  // namespace

double legend_margin(Interval values) {
  return legend_gap + legend_width + legend_tick + 2 + label_room(values) + 2;
}

Plot::Plot(PlotText text, PlotAxis x, PlotAxis y, PlotSize size, double right_margin)
    : text_(std::move(text)),
      x_(std::move(x)),
      y_(std::move(y)),
      size_(size),
      left_(label_room(y_) + tick_length + 6 + (y_.title.empty() ? 4 : 20)),
      right_(size.width - right_margin),
      bottom_(size.height - 38) {
  if (!x_.categories.empty()) x_.values = {0, static_cast<double>(x_.categories.size())};
  if (!y_.categories.empty()) y_.values = {0, static_cast<double>(y_.categories.size())};
  axes();
}

double Plot::across(double x) const {
  return left_ + (x - x_.values.low) / (x_.values.high - x_.values.low) * (right_ - left_);
}

double Plot::down(double y) const {
  const double share = (y - y_.values.low) / (y_.values.high - y_.values.low);
  return y_.categories.empty() ? bottom_ - share * (bottom_ - top_) : top_ + share * (bottom_ - top_);
}

void Plot::axes() {
  auto to = std::back_inserter(axes_);
  fmt::format_to(to, R"(<rect class="frame" x="{}" y="{}" width="{}" height="{}"/>)", px(left_), px(top_),
                 px(right_ - left_), px(bottom_ - top_));
  const auto x_tick = [&](double position, const std::string& label) {
    fmt::format_to(to, R"(<path class="axis" d="M{} {}v{}"/>)", px(position), px(bottom_), px(tick_length));
    fmt::format_to(to, R"(<text class="tick" x="{}" y="{}" text-anchor="middle">{}</text>)", px(position),
                   px(bottom_ + 17), escaped(label));
  };
  const auto y_tick = [&](double position, const std::string& label) {
    fmt::format_to(to, R"(<path class="axis" d="M{} {}h{}"/>)", px(left_), px(position), px(-tick_length));
    fmt::format_to(to, R"(<text class="tick" x="{}" y="{}" text-anchor="end">{}</text>)",
                   px(left_ - tick_length - 3), px(position + 4), escaped(label));
  };
  if (x_.categories.empty()) {
    const auto positions = ticks(x_.values.low, x_.values.high);
    const auto labels = tick_labels(positions);
    for (std::size_t i = 0; i < positions.size(); ++i) x_tick(across(positions[i]), labels[i]);
  }
  for (std::size_t i = 0; i < x_.categories.size(); ++i) {
    x_tick(across(static_cast<double>(i) + 0.5), shortened(x_.categories[i], longest_category));
  }
  if (y_.categories.empty()) {
    const auto positions = ticks(y_.values.low, y_.values.high);
    const auto labels = tick_labels(positions);
    for (std::size_t i = 0; i < positions.size(); ++i) y_tick(down(positions[i]), labels[i]);
  }
  for (std::size_t i = 0; i < y_.categories.size(); ++i) {
    if (y_.categories[i].empty()) continue;
    y_tick(down(static_cast<double>(i) + 0.5), shortened(y_.categories[i], longest_category));
  }
  fmt::format_to(to, R"(<text class="title" x="{}" y="{}" text-anchor="middle">{}</text>)",
                 px((left_ + right_) / 2), px(size_.height - 4), escaped(shortened(x_.title, 48)));
  if (!y_.title.empty()) {
    const double middle = (top_ + bottom_) / 2;
    const auto most = static_cast<std::size_t>(std::max(8.0, (bottom_ - top_ + 30) / 7));
    fmt::format_to(
        to,
        R"svg(<text class="title" x="12" y="{0}" text-anchor="middle" transform="rotate(-90 12 {0})">{1}</text>)svg",
        px(middle), escaped(shortened(y_.title, most)));
  }
}

void Plot::band(std::span<const double> x, std::span<const double> low, std::span<const double> high) {
  std::string path;
  for (std::size_t i = 0; i < x.size(); ++i) {
    path += fmt::format("{}{} {}", i == 0 ? 'M' : 'L', px(across(x[i])), px(down(high[i])));
  }
  for (std::size_t i = x.size(); i-- > 0;) {
    path += fmt::format("L{} {}", px(across(x[i])), px(down(low[i])));
  }
  marks_ += fmt::format(R"(<path class="band" d="{}Z"/>)", path);
}

void Plot::line(std::span<const double> x, std::span<const double> y, std::string_view style) {
  std::string path;
  for (std::size_t i = 0; i < x.size(); ++i) {
    path += fmt::format("{}{} {}", i == 0 ? 'M' : 'L', px(across(x[i])), px(down(y[i])));
  }
  marks_ += fmt::format(R"(<path class="{}" d="{}"/>)", style, path);
}

void Plot::points(std::span<const double> x, std::span<const double> y, std::string_view style) {
  // A run of no length, with round ends, is a dot.
  std::set<std::string> dots;
  for (std::size_t i = 0; i < x.size(); ++i) {
    dots.insert(fmt::format("M{} {}h0", px(across(x[i])), px(down(y[i]))));
  }
  std::string path;
  for (const std::string& dot : dots) path += dot;
  marks_ += fmt::format(R"(<path class="{}" d="{}"/>)", style, path);
}

void Plot::segment(double x1, double y1, double x2, double y2, std::string_view style) {
  segments(std::array{x1, x2}, std::array{y1, y2}, style);
}

void Plot::segments(std::span<const double> x, std::span<const double> y, std::string_view style) {
  std::string path;
  for (std::size_t i = 0; i < x.size(); ++i) {
    path += fmt::format("{}{} {}", i % 2 == 0 ? 'M' : 'L', px(across(x[i])), px(down(y[i])));
  }
  marks_ += fmt::format(R"(<path class="{}" d="{}"/>)", style, path);
}

void Plot::rectangles(std::span<const PlotRectangle> rectangles, std::string_view style,
                      std::string_view colour) {
  std::string path;
  for (const PlotRectangle& one : rectangles) {
    path += fmt::format("M{} {}H{}V{}H{}Z", px(across(one.left)), px(down(one.top)), px(across(one.right)),
                        px(down(one.bottom)), px(across(one.left)));
  }
  const std::string fill = colour.empty() ? "" : fmt::format(R"( fill="{}")", colour);
  marks_ += fmt::format(R"(<path class="{}"{} d="{}"/>)", style, fill, path);
}

void Plot::strip(double low, double high, std::span<const long long> counts) {
  const long long most = *std::max_element(counts.begin(), counts.end());
  if (most <= 0) return;
  const double part = (high - low) / static_cast<double>(counts.size());
  const double unit = strip_share * (y_.values.high - y_.values.low) / static_cast<double>(most);
  std::vector<PlotRectangle> bars;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    const double left = low + part * static_cast<double>(i);
    bars.push_back({left, left + part, y_.values.low, y_.values.low + unit * static_cast<double>(counts[i])});
  }
  rectangles(bars, "strip");
}

void Plot::label(double x, double y, std::string_view text, std::string_view style) {
  marks_ += fmt::format(R"(<text class="{}" x="{}" y="{}">{}</text>)", style, px(across(x)), px(down(y)),
                        escaped(text));
}

void Plot::legend(Interval values, std::span<const std::string> colours) {
  const double left = right_ + legend_gap;
  const double part = (bottom_ - top_) / static_cast<double>(colours.size());
  auto to = std::back_inserter(marks_);
  for (std::size_t i = 0; i < colours.size(); ++i) {
    fmt::format_to(to, R"(<rect class="cells" fill="{}" x="{}" y="{}" width="{}" height="{}"/>)", colours[i],
                   px(left), px(bottom_ - part * static_cast<double>(i + 1)), px(legend_width),
                   px(part + 0.2));
  }
  const auto positions = ticks(values.low, values.high);
  const auto labels = tick_labels(positions);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const double y = bottom_ - (positions[i] - values.low) / (values.high - values.low) * (bottom_ - top_);
    fmt::format_to(to, R"(<path class="axis" d="M{} {}h{}"/><text class="tick" x="{}" y="{}">{}</text>)",
                   px(left + legend_width), px(y), px(legend_tick), px(left + legend_width + legend_tick + 2),
                   px(y + 4), labels[i]);
  }
}

std::string Plot::svg() const {
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {} {}"><title>{}</title><desc>{}</desc>{}{}</svg>)",
      px(size_.width), px(size_.height), escaped(text_.title), escaped(text_.description), axes_, marks_);
}

}  // namespace tessera::gam
