// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/printable.hpp>

#include <cstddef>
#include <string_view>

/// UTF-8 (RFC 3629) is the encoding of names and levels, because models are JSON, which allows no other.
namespace tessera::base {

[[nodiscard]] inline bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t bytes = utf8_character_bytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

inline constexpr std::string_view how_to_utf8 =
    "convert the table, a CSV file for instance by: iconv -f ISO-8859-1 -t UTF-8";

}  // namespace tessera::base
