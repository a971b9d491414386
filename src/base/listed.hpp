// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::base {

/// "ps, cp and cr", with `conjunction` before the last.
[[nodiscard]] inline std::string listed(const std::vector<std::string>& names, std::string_view conjunction) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 < names.size() ? ", " : " " + std::string(conjunction) + " ";
    text += names[i];
  }
  return text;
}

}  // namespace tessera::base
