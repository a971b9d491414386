// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/printable.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <string_view>

namespace tessera::base {

[[nodiscard]] inline std::uint32_t code_point(std::string_view character) noexcept {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first;
  std::uint32_t code = first & (0xFFU >> (character.size() + 1));
  for (const char byte : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(byte) & 0x3FU);
  return code;
}

[[nodiscard]] inline bool is_command(std::uint32_t code) noexcept {
  const bool control = code < 0x20 || (code >= 0x7F && code <= 0x9F);
  const bool direction = (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
  return control || direction || code == 0x2028 || code == 0x2029;
}

/// Removes the first piece of a non-empty text, and returns it in a form safe for a terminal: either all
/// characters up to the next one that needs an escape, or the escape of one character, stored in `room`.
[[nodiscard]] inline std::string_view take_piece(std::string_view& text, Lines lines,
                                                 std::array<char, 6>& room) noexcept {
  std::size_t kept = 0;
  while (kept < text.size()) {
    const std::size_t bytes = utf8_character_bytes(text.substr(kept));
    if (bytes == 0) break;
    const std::uint32_t code = code_point(text.substr(kept, bytes));
    if (is_command(code) && !(code == '\n' && lines == Lines::many)) break;
    kept += bytes;
  }
  if (kept > 0) {
    const std::string_view piece = text.substr(0, kept);
    text.remove_prefix(kept);
    return piece;
  }
  const std::string_view character = text.substr(0, std::max<std::size_t>(1, utf8_character_bytes(text)));
  const std::uint32_t code = code_point(character);
  text.remove_prefix(character.size());
  const std::size_t size = character.size() == 1 ? 4 : 6;
  room = {'\\', size == 4 ? 'x' : 'u'};
  for (std::size_t i = 2; i < size; ++i) room[i] = "0123456789abcdef"[code >> (4 * (size - 1 - i)) & 15U];
  return {room.data(), size};
}

/// Buffers text and writes up to 4096 bytes in one call, so that lines of several ranks do not mix.
class WholeWrite {
 public:
  explicit WholeWrite(std::FILE* stream) noexcept : stream_(stream) {}

  void append(std::string_view text) noexcept {
    while (!text.empty()) {
      if (used_ == bytes_.size()) write();
      const std::size_t count = std::min(text.size(), bytes_.size() - used_);
      std::memcpy(bytes_.data() + used_, text.data(), count);
      used_ += count;
      text.remove_prefix(count);
    }
  }
  bool finish() noexcept {
    write();
    return std::fflush(stream_) == 0 && written_;
  }

 private:
  void write() noexcept {
    written_ = written_ && std::fwrite(bytes_.data(), 1, used_, stream_) == used_;
    used_ = 0;
  }

  std::FILE* stream_;
  std::array<char, 4096> bytes_{};
  std::size_t used_ = 0;
  bool written_ = true;
};

/// Writes texts to a stream one after another, escaped like `printable` does, and flushes the stream; with
/// `Lines::one` adds a newline. Returns false, with `errno` set, on failure. Allocates no memory.
inline bool write_printable(std::FILE* stream, std::initializer_list<std::string_view> texts,
                            Lines lines = Lines::one) noexcept {
  WholeWrite buffer(stream);
  std::array<char, 6> room{};
  for (std::string_view text : texts)
    while (!text.empty()) buffer.append(take_piece(text, lines, room));
  if (lines == Lines::one) buffer.append("\n");
  return buffer.finish();
}

}  // namespace tessera::base
