// SPDX-License-Identifier: Apache-2.0
#include "gam/data/frame/field_parsing.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  return text.size() == lower.size() &&
         std::equal(text.begin(), text.end(), lower.begin(), [](char a, char b) { return (a | 0x20) == b; });
}

constexpr std::pair<std::string_view, std::string_view> unseen_characters[] = {
    {"\u00A0", "<U+00A0>"}, {"\u2007", "<U+2007>"}, {"\u2009", "<U+2009>"},
    {"\u200B", "<U+200B>"}, {"\u200E", "<U+200E>"}, {"\u202F", "<U+202F>"},
    {"\u2060", "<U+2060>"}, {"\u3000", "<U+3000>"}, {"\uFEFF", "<U+FEFF>"}};

}  // namespace

std::string visible_text(std::string text) {
  for (const auto& [character, name] : unseen_characters) {
    for (std::size_t place; (place = text.find(character)) != std::string::npos;)
      text.replace(place, character.size(), name);
  }
  return text;
}

std::optional<double> field_number(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const bool negative = text[0] == '-';
  const std::string_view magnitude = text.substr(negative || text[0] == '+' ? 1 : 0);
  if (magnitude.empty()) return std::nullopt;
  double value = 0;
  if (equals_ignoring_case(magnitude, "nan")) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (equals_ignoring_case(magnitude, "inf") || equals_ignoring_case(magnitude, "infinity")) {
    value = std::numeric_limits<double>::infinity();
  } else {
    const bool hexadecimal = magnitude.size() > 2 && magnitude[0] == '0' && (magnitude[1] | 0x20) == 'x';
    const std::string_view digits = magnitude.substr(hexadecimal ? 2 : 0);
    if (digits[0] != '.' && !(digits[0] >= '0' && digits[0] <= '9') && !hexadecimal) return std::nullopt;
    if (digits[0] == '-') return std::nullopt;
    const char* const end = digits.data() + digits.size();
    const auto result = std::from_chars(digits.data(), end, value,
                                        hexadecimal ? std::chars_format::hex : std::chars_format::general);
    if (result.ptr != end) return std::nullopt;
    // On overflow and underflow from_chars does not set the value; strtod returns the limit.
    if (result.ec == std::errc::result_out_of_range)
      value = std::strtod(std::string(magnitude).c_str(), nullptr);
    else if (result.ec != std::errc{})
      return std::nullopt;
  }
  return negative ? -value : value;
}

std::optional<double> field_number(std::string_view text, bool decimal_comma) {
  return decimal_comma ? field_number(with_decimal_point(text)) : field_number(text);
}

std::string with_decimal_point(std::string_view text) {
  std::string swapped(text);
  for (char& c : swapped) c = c == ',' ? '.' : c == '.' ? ',' : c;
  return swapped;
}

}  // namespace TESSERA_NAMESPACE::gam
