// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <string>
#include <string_view>

namespace tessera::base {

[[nodiscard]] inline std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += c;
    out += c;
  }
  return out + '"';
}

/// A column's name, in quotes if it contains a comma, a quote or a line end.
[[nodiscard]] inline std::string csv_name(const std::string& name) {
  return name.find_first_of(",\"\n\r") == std::string::npos ? name : in_quotes(name);
}

/// Appends a number that reads back to the same bits; NA for NaN.
inline void append_number(std::string& text, double value) {
  if (std::isnan(value)) {
    text += "NA";
  } else {
    fmt::format_to(std::back_inserter(text), "{:.17g}", value);
  }
}

}  // namespace tessera::base
