// SPDX-License-Identifier: Apache-2.0
#include "gam/family/custom_family.hpp"

#include "base/math/elementary.hpp"
#include "gam/family/family_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// A TOML string: literal if possible, otherwise escaped. toml++'s own writer ends some multi-line strings
/// with quotes too early.
std::string toml_string(std::string_view text) {
  const auto is_control = [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; };
  if (text.find('\'') == std::string_view::npos && std::none_of(text.begin(), text.end(), is_control))
    return fmt::format("'{}'", text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (is_control(static_cast<unsigned char>(c)))
      out += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + '"';
}

}  // namespace

CustomFamily parse_custom_family(std::string_view toml, const std::string& origin) {
  const FamilyFile file(toml, origin);
  constexpr std::array known{"name", "link", "scale", "inverse_link", "derivative", "variance", "deviance"};
  file.require_known(known);
  CustomFamily family;
  family.name = file.name();
  if (const auto* link = file.text("link")) family.link_name = link->get();
  if (const auto* scale = file.text("scale")) {
    if (scale->get() != "known" && scale->get() != "estimated")
      file.refuse(*scale, R"(scale must be "known" (1 by definition) or "estimated")");
    family.scale_is_known = scale->get() == "known";
  }
  family.inverse_link = file.function("inverse_link", {"eta"});
  family.derivative = file.function("derivative", {"eta"});
  family.variance = file.function("variance", {"mu"});
  family.unit_deviance = file.function("deviance", {"y", "mu"});
  if (family.link_name.empty()) family.link_name = "inverse of " + family.inverse_link.text();
  return family;
}

std::string to_toml(const CustomFamily& family) {
  return fmt::format(
      "name = {}\nlink = {}\nscale = {}\ninverse_link = {}\nderivative = {}\nvariance = {}\ndeviance = {}\n",
      toml_string(family.name), toml_string(family.link_name),
      toml_string(family.scale_is_known ? "known" : "estimated"), toml_string(family.inverse_link.text()),
      toml_string(family.derivative.text()), toml_string(family.variance.text()),
      toml_string(family.unit_deviance.text()));
}

std::optional<double> predictor_of(const CustomFamily& family, double mean) {
  const auto miss = [&](double eta) { return family.inverse_link(eta) - mean; };
  // A grid from 1e-6 to 1e6 on each side of 0; neighbours bracket the root.
  std::vector<double> grid{0};
  for (int quarter = -24; quarter <= 24; ++quarter) {
    const double eta = base::pow(10.0, quarter / 4.0);
    grid.push_back(eta);
    grid.insert(grid.begin(), -eta);
  }
  for (std::size_t i = 0; i < grid.size(); ++i) {
    double low = grid[i];
    const double miss_low = miss(low);
    if (miss_low == 0) return low;
    if (i + 1 == grid.size() || !std::isfinite(miss_low)) continue;
    double high = grid[i + 1];
    const double miss_high = miss(high);
    // A sign change at a pole, as of 1/eta at 0, is not a root.
    const bool rises = family.derivative(low) > 0;
    if (!std::isfinite(miss_high) || !(rises ? miss_low < 0 && miss_high > 0 : miss_low > 0 && miss_high < 0))
      continue;
    for (double middle = low + (high - low) / 2; low < middle && middle < high;
         middle = low + (high - low) / 2) {
      const double at_middle = miss(middle);
      if (at_middle == 0) return middle;
      ((at_middle < 0) == rises ? low : high) = middle;
    }
    return std::abs(miss(low)) <= std::abs(miss(high)) ? low : high;
  }
  return std::nullopt;
}

std::string family_device_source(const CustomFamily& family) {
  return fmt::format(R"(struct OwnFamily {{
  static constexpr bool linear = {};
  static constexpr Start start = Start({});
  double mean(double eta) const {{ return {}; }}
  double derivative(double eta) const {{ return {}; }}
  double variance(double mu) const {{ return {}; }}
  double weight(double prior, double mu, double slope) const {{ return prior * slope * slope / variance(mu); }}
  double deviance(double y, double mu, double prior) const {{ return prior * {}; }}
}};
)",
                     CustomFamily::linear, static_cast<int>(CustomFamily::start),
                     family.inverse_link.device_expression(), family.derivative.device_expression(),
                     family.variance.device_expression(), family.unit_deviance.device_expression());
}

}  // namespace TESSERA_NAMESPACE::gam
