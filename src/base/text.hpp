// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

namespace tessera::base {

/// The characters for which isspace() of C is true.
inline constexpr std::string_view white_space = " \t\n\r\v\f";

[[nodiscard]] constexpr std::string_view trimmed(std::string_view text,
                                                 std::string_view blanks = white_space) noexcept {
  const auto is_blank = [blanks](char c) {
    for (const char blank : blanks)
      if (c == blank) return true;
    return false;
  };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

[[nodiscard]] inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace tessera::base
