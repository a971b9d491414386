// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <string>

namespace tessera::base {

/// "1 rank", "8 ranks".
[[nodiscard]] std::string pluralised(std::integral auto count, const char* what) {
  return std::to_string(count) + ' ' + what + (count == 1 ? "" : "s");
}

}  // namespace tessera::base
