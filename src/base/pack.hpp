// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/number.hpp"

/// Packs a list of texts into one text. Each text is preceded by its length, so that different lists give
/// different results.
namespace tessera::base {

struct Packing {
  char after_length;
  std::string_view after_text;
};
inline constexpr Packing tight{':', ""};    ///< "5:hello"
inline constexpr Packing lines{' ', "\n"};  ///< "5 hello\n"

inline void pack(std::string& all, std::string_view text, Packing packing) {
  all += std::to_string(text.size());
  all += packing.after_length;
  all += text;
  all += packing.after_text;
}

/// Removes a number and the delimiter `behind` from the front of `rest`. Empty, with `rest` unchanged, if
/// they are missing.
[[nodiscard]] inline std::optional<std::size_t> unpack_number(std::string_view& rest, char behind) {
  std::string_view left = rest;
  const auto number = take_number<std::size_t>(left);
  if (!number || !left.starts_with(behind)) return std::nullopt;
  rest = left.substr(1);
  return number;
}

/// Removes a packed text from the front; empty if the text is incomplete.
[[nodiscard]] inline std::optional<std::string_view> unpack(std::string_view& rest, Packing packing) {
  const auto size = unpack_number(rest, packing.after_length);
  if (!size || *size > rest.size() || !rest.substr(*size).starts_with(packing.after_text))
    return std::nullopt;
  const std::string_view text = rest.substr(0, *size);
  rest.remove_prefix(*size + packing.after_text.size());
  return text;
}

}  // namespace tessera::base
