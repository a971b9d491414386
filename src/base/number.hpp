// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>

/// Parses numbers like std::from_chars: leading blanks and a plus sign are not accepted, and the locale has
/// no effect.
namespace tessera::base {

/// Removes the number at the front of `text` and returns it. Empty, with `text` unchanged, if `text` does not
/// start with a number, or if the number is out of the range of the type.
template <class Number>
[[nodiscard]] std::optional<Number> take_number(std::string_view& text) noexcept {
  Number number{};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// The number if it is the whole `text`, else empty.
template <class Number>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text) noexcept {
  const auto number = take_number<Number>(text);
  return text.empty() ? number : std::nullopt;
}

/// The exponent of a number in exponential notation: -3 of "1.50e-03".
[[nodiscard]] inline int decimal_exponent(std::string_view text) noexcept {
  text.remove_prefix(text.find('e') + 1);
  if (text.starts_with('+')) text.remove_prefix(1);
  return parse_number<int>(text).value_or(0);
}

}  // namespace tessera::base
