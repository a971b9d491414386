// SPDX-License-Identifier: Apache-2.0
#include "gam/report/ticks.hpp"

#include "base/at.hpp"
#include "base/number.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// The distance between ticks: `digit` * 10^`power`.
struct TickStep {
  int digit;
  int power;

  /// The position of tick number i, rounded once.
  [[nodiscard]] double times(double i) const {
    const double scale = std::pow(10.0, std::abs(power));
    return power < 0 ? i * digit / scale : i * digit * scale;
  }
};

TickStep nearest_step(double wanted) {
  const int power = static_cast<int>(std::floor(std::log10(wanted)));
  TickStep best{1, power};
  double least = INFINITY;
  for (const TickStep step :
       {TickStep{1, power}, TickStep{2, power}, TickStep{5, power}, TickStep{1, power + 1}}) {
    const double distance = std::abs(std::log(step.times(1) / wanted));
    if (distance >= least) continue;
    least = distance;
    best = step;
  }
  return best;
}

std::vector<double> ticks_of(double low, double high, double count) {
  const TickStep step = nearest_step((high - low) / count);
  // The tolerance keeps a tick at an end of the interval in spite of rounding.
  const double first = std::ceil(low / step.times(1) - 1e-9);
  const double last = std::floor(high / step.times(1) + 1e-9);
  std::vector<double> out;
  for (double i = first; i <= last && out.size() < 100; ++i) {
    out.push_back(step.times(i) + 0.0);  // never -0
  }
  return out;
}

}  // namespace

std::vector<double> ticks(double low, double high, int count) {
  std::vector<double> out;
  // A model is untrusted: an empty interval, or one too wide for doubles, has no ticks.
  if (!(high - low > 0) || !std::isfinite((high - low) / count) || (high - low) / (1e3 * count) == 0)
    return out;
  for (double wanted = count; (out = ticks_of(low, high, wanted)).size() < 2 && wanted < 1e3;) wanted *= 1.5;
  return out;
}

TickLabels tick_labels(std::span<const double> ticks) {
  double largest = 0;
  for (const double tick : ticks) largest = std::max(largest, std::abs(tick));
  TickLabels labels;
  if (largest > 0 && (largest < 1e-3 || largest >= 1e6))
    labels.power = static_cast<int>(std::floor(std::log10(largest)));
  const double unit = std::pow(10.0, labels.power);
  const double step = ticks.size() > 1 ? ticks[1] / unit - ticks[0] / unit : largest / unit;
  bool exact = false;
  for (int digits = 0; !exact && digits <= 17; ++digits) {
    labels.texts.clear();
    exact = true;
    for (const double tick : ticks) {
      labels.texts.push_back(fmt::format("{:.{}f}", tick / unit, digits));
      const auto shown = base::parse_number<double>(labels.texts.back());
      exact = exact && shown && std::abs(*shown - tick / unit) <= 1e-6 * step;
    }
  }
  for (std::string& label : labels.texts) {
    if (label.starts_with('-')) label.replace(0, 1, "\u2212");
  }
  return labels;
}

std::string power_text(int power) {
  if (power == 0) return {};
  constexpr std::array raised{"\u2070", "\u00b9", "\u00b2", "\u00b3", "\u2074",
                              "\u2075", "\u2076", "\u2077", "\u2078", "\u2079"};
  std::string text = "\u00d710";
  for (const char c : std::to_string(power)) text += c == '-' ? "\u207b" : raised[at(c - '0')];
  return text;
}

Interval widened(Interval values) {
  if (values.low < values.high) {
    const double margin = (values.high - values.low) / 20;
    return {values.low - margin, values.high + margin};
  }
  const double margin = values.low == 0 ? 1 : std::abs(values.low) / 2;
  return {values.low - margin, values.low + margin};
}

}  // namespace TESSERA_NAMESPACE::gam
