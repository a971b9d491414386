// SPDX-License-Identifier: Apache-2.0
#include <tessera/printable.hpp>

#include "base/write_printable.hpp"

namespace TESSERA_NAMESPACE {

std::size_t utf8_character_bytes(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto follows = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xC0U) == 0x80U; };
  const unsigned char first = byte(0);
  if (first < 0x80U) return 1;
  if (first >= 0xC2U && first <= 0xDFU) return follows(1) ? 2 : 0;
  if (first >= 0xE0U && first <= 0xEFU) {
    if (!follows(1) || !follows(2)) return 0;
    const bool too_long = first == 0xE0U && byte(1) < 0xA0U;
    const bool surrogate = first == 0xEDU && byte(1) >= 0xA0U;
    return too_long || surrogate ? 0 : 3;
  }
  if (first >= 0xF0U && first <= 0xF4U) {
    if (!follows(1) || !follows(2) || !follows(3)) return 0;
    const bool outside = (first == 0xF0U && byte(1) < 0x90U) || (first == 0xF4U && byte(1) >= 0x90U);
    return outside ? 0 : 4;
  }
  return 0;
}

std::string printable(std::string_view text, Lines lines) {
  std::string out;
  out.reserve(text.size());
  std::array<char, 6> room{};
  while (!text.empty()) out += base::take_piece(text, lines, room);
  return out;
}

}  // namespace TESSERA_NAMESPACE
