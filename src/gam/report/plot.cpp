// SPDX-License-Identifier: Apache-2.0
#include "gam/report/plot.hpp"

#include "gam/report/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr double letter = 6.9;  ///< average width of a letter in a tick label
constexpr double tick_length = 4;
constexpr std::size_t longest_category = 26;

std::string px(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

double label_room(Interval values) {
  std::size_t longest = 0;
  for (const std::string& label : tick_labels(ticks(values.low, values.high)).texts)
    longest = std::max(longest, length_of(label));
  return letter * static_cast<double>(longest);
}

double label_room(const PlotAxis& axis) {
  if (axis.categories.empty()) return label_room(axis.values);
  std::size_t longest = 0;
  for (const std::string& name : axis.categories) {
    longest = std::max(longest, std::min(length_of(name), longest_category));
  }
  return letter * static_cast<double>(longest);
}

/// Space above the frame: a line of text if the axis has a power of ten.
double room_above(const PlotAxis& y) {
  const bool power = y.categories.empty() && tick_labels(ticks(y.values.low, y.values.high)).power != 0;
  return power ? 22 : 10;
}

/// Layout of the key, in SVG units; `longest_key` in characters.
constexpr double key_left = 50;
constexpr double key_row = 17;
constexpr double key_sample = 16;
constexpr double key_letter = 6.3;
constexpr std::size_t longest_key = 24;

/// Calls `put(x, row, name)` for each name of a key; rows are numbered from the top.
template <class Put>
void for_each_in_key(std::span<const std::string> names, const Put& put) {
  double x = key_left;
  double row = 0;
  for (const std::string& whole : names) {
    const std::string name = shortened(whole, longest_key);
    const double width = key_sample + 5 + key_letter * static_cast<double>(length_of(name)) + 8;
    if (x > key_left && x + width > PlotSize().width) {
      x = key_left;
      ++row;
    }
    put(x, row, name);
    x += width;
  }
}

/// Layout of the colour scale, in SVG units.
constexpr double legend_gap = 12;
constexpr double legend_width = 10;
constexpr double legend_tick = 3;

}  // namespace

double key_height(std::span<const std::string> names) {
  double rows = 1;
  for_each_in_key(names, [&](double /*x*/, double row, const std::string& /*name*/) { rows = row + 1; });
  return key_row * rows;
}

std::string colour_style(std::size_t line) {
  return fmt::format("k{}", line);
}

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
      top_(room_above(y_) + size.above),
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

void Plot::x_ticks() {
  const auto tick = [&](double position, const std::string& label) {
    fmt::format_to(
        std::back_inserter(axes_),
        R"(<path class="axis" d="M{0} {1}v{2}"/><text class="tick" x="{0}" y="{3}" text-anchor="middle">{4}</text>)",
        px(position), px(bottom_), px(tick_length), px(bottom_ + 17), escaped(label));
  };
  for (std::size_t i = 0; i < x_.categories.size(); ++i)
    tick(across(static_cast<double>(i) + 0.5), shortened(x_.categories[i], longest_category));
  if (!x_.categories.empty()) return;
  // The most ticks, from 5 to 2, whose labels fit.
  std::vector<double> positions;
  TickLabels labels;
  for (int count = 5; count >= 2; --count) {
    positions = ticks(x_.values.low, x_.values.high, count);
    labels = tick_labels(positions);
    std::size_t longest = 0;
    for (const std::string& label : labels.texts) longest = std::max(longest, length_of(label));
    if ((letter * static_cast<double>(longest) + 10) * static_cast<double>(positions.size()) < right_ - left_)
      break;
  }
  for (std::size_t i = 0; i < positions.size(); ++i) tick(across(positions[i]), labels.texts[i]);
  if (labels.power != 0)
    fmt::format_to(std::back_inserter(axes_),
                   R"(<text class="tick" x="{}" y="{}" text-anchor="end">{}</text>)", px(right_),
                   px(size_.height - 4), power_text(labels.power));
}

void Plot::y_ticks() {
  const auto tick = [&](double position, const std::string& label) {
    fmt::format_to(
        std::back_inserter(axes_),
        R"(<path class="axis" d="M{} {}h{}"/><text class="tick" x="{}" y="{}" text-anchor="end">{}</text>)",
        px(left_), px(position), px(-tick_length), px(left_ - tick_length - 3), px(position + 4),
        escaped(label));
  };
  for (std::size_t i = 0; i < y_.categories.size(); ++i) {
    if (y_.categories[i].empty()) continue;
    tick(down(static_cast<double>(i) + 0.5), shortened(y_.categories[i], longest_category));
  }
  if (!y_.categories.empty()) return;
  const auto positions = ticks(y_.values.low, y_.values.high);
  const TickLabels labels = tick_labels(positions);
  for (std::size_t i = 0; i < positions.size(); ++i) tick(down(positions[i]), labels.texts[i]);
  if (labels.power != 0)
    fmt::format_to(std::back_inserter(axes_), R"(<text class="tick" x="{}" y="{}">{}</text>)", px(left_ - 30),
                   px(top_ - 7), power_text(labels.power));
}

void Plot::axes() {
  auto to = std::back_inserter(axes_);
  fmt::format_to(to, R"(<rect class="frame" x="{}" y="{}" width="{}" height="{}"/>)", px(left_), px(top_),
                 px(right_ - left_), px(bottom_ - top_));
  x_ticks();
  y_ticks();
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

void Plot::band(std::span<const double> x, std::span<const double> low, std::span<const double> high,
                std::string_view style) {
  std::string path;
  for (std::size_t i = 0; i < x.size(); ++i) {
    path += fmt::format("{}{} {}", i == 0 ? 'M' : 'L', px(across(x[i])), px(down(high[i])));
  }
  for (std::size_t i = x.size(); i-- > 0;) {
    path += fmt::format("L{} {}", px(across(x[i])), px(down(low[i])));
  }
  marks_ += fmt::format(R"(<path class="{}" d="{}Z"/>)", style, path);
}

void Plot::line(std::span<const double> x, std::span<const double> y, std::string_view style) {
  std::string path;
  for (std::size_t i = 0; i < x.size(); ++i) {
    path += fmt::format("{}{} {}", i == 0 ? 'M' : 'L', px(across(x[i])), px(down(y[i])));
  }
  marks_ += fmt::format(R"(<path class="{}" d="{}"/>)", style, path);
}

void Plot::points(std::span<const double> x, std::span<const double> y, std::string_view style) {
  // A segment of length zero with round ends is drawn as a dot.
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

void Plot::rug(std::span<const double> x) {
  std::set<std::string> places;
  for (const double one : x) places.insert(px(across(one)));
  std::string path;
  for (const std::string& place : places) path += fmt::format("M{} {}v-6", place, px(bottom_));
  marks_ += fmt::format(R"(<path class="rug" d="{}"/>)", path);
}

void Plot::key(std::span<const std::string> names) {
  std::size_t line = 0;
  for_each_in_key(names, [&](double x, double row, const std::string& name) {
    const double y = 10 + key_row * row;
    marks_ += fmt::format(
        R"(<path class="line {}" d="M{} {}h{}"/><text class="tick" x="{}" y="{}">{}</text>)",
        colour_style(line++), px(x), px(y), px(key_sample), px(x + key_sample + 5), px(y + 4), escaped(name));
  });
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
  const TickLabels labels = tick_labels(positions);
  if (labels.power != 0)
    fmt::format_to(to, R"(<text class="tick" x="{}" y="{}" text-anchor="end">{}</text>)", px(size_.width - 2),
                   px(bottom_ + 17), power_text(labels.power));
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const double y = bottom_ - (positions[i] - values.low) / (values.high - values.low) * (bottom_ - top_);
    fmt::format_to(to, R"(<path class="axis" d="M{} {}h{}"/><text class="tick" x="{}" y="{}">{}</text>)",
                   px(left + legend_width), px(y), px(legend_tick), px(left + legend_width + legend_tick + 2),
                   px(y + 4), labels.texts[i]);
  }
}

std::string Plot::svg() const {
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {} {}"><title>{}</title><desc>{}</desc>{}{}</svg>)",
      px(size_.width), px(size_.height), escaped(text_.title), escaped(text_.description), axes_, marks_);
}

}  // namespace TESSERA_NAMESPACE::gam
