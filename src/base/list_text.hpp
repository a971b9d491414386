// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::base {

/// "ps, cp and cr", with `conjunction` before the last name.
[[nodiscard]] inline std::string list_text(const std::vector<std::string>& names,
                                           std::string_view conjunction) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 < names.size() ? ", " : " " + std::string(conjunction) + " ";
    text += names[i];
  }
  return text;
}

/// The text "a, b and 4 more stay: BECAUSE", about files that were not removed. Names at most eight files.
[[nodiscard]] inline std::string staying(std::vector<std::string> files, std::string_view because) {
  constexpr std::size_t shown = 8;
  const std::size_t count = files.size();
  if (count > shown) {
    files.resize(shown);
    files.push_back(std::to_string(count - shown) + " more");
  }
  return list_text(files, "and") + (count == 1 ? " stays: " : " stay: ") + std::string(because);
}

}  // namespace tessera::base
