// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.hpp"

#include <tessera/printable.hpp>

#include <cstddef>

namespace tessera::base {

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t bytes = utf8_character_bytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

}  // namespace tessera::base
