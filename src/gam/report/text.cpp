// SPDX-License-Identifier: Apache-2.0
#include "gam/report/text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <tessera/printable.hpp>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

/// Number of bytes of the first character of `text`; 0 if it is invalid in XML (not UTF-8, U+FFFE, U+FFFF).
std::size_t xml_character_bytes(std::string_view text) {
  return text.starts_with("\xEF\xBF\xBE") || text.starts_with("\xEF\xBF\xBF") ? 0
                                                                              : utf8_character_bytes(text);
}

/// Calls `use(character, is_valid)` for each character; an invalid byte is one character.
template <class Use>
void for_each_character(std::string_view text, const Use& use) {
  while (!text.empty()) {
    const std::size_t bytes = xml_character_bytes(text);
    use(text.substr(0, std::max<std::size_t>(bytes, 1)), bytes != 0);
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for_each_character(text, [&](std::string_view character, bool good) {
    const auto first = static_cast<unsigned char>(character[0]);
    const bool control = (first < 0x20 && first != '\t' && first != '\n') || first == 0x7F;
    if (!good || control) {
      out += replacement;
      return;
    }
    switch (first) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += character;
    }
  });
  return out;
}

std::size_t length_of(std::string_view text) {
  std::size_t count = 0;
  for_each_character(text, [&](std::string_view, bool) { ++count; });
  return count;
}

std::string shortened(std::string_view text, std::size_t most) {
  if (length_of(text) <= most) return std::string(text);
  std::string out;
  std::size_t count = 0;
  for_each_character(text, [&](std::string_view character, bool) {
    if (++count < most) out += character;
  });
  return out + "\u2026";
}

std::string number_text(double value, int digits) {
  std::string text = fmt::format("{:.{}g}", value, digits);
  for (std::size_t at = 0; (at = text.find('-', at)) != std::string::npos;) text.replace(at, 1, "\u2212");
  return text;
}

std::string count_text(long long count) {
  std::string text = fmt::format("{}", count);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > (count < 0 ? 1 : 0); at -= 3) {
    text.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return text;
}

}  // namespace TESSERA_NAMESPACE::gam
