// SPDX-License-Identifier: Apache-2.0
#include "gam/data/bytes/lzf.hpp"

#include <algorithm>
#include <cstring>

namespace TESSERA_NAMESPACE::gam {

/// Source: the format of LibLZF (Lehmann). A control byte n < 32 precedes n + 1 literal bytes. Any other
/// control byte begins a back reference: its upper three bits are the length minus 2 (if 7, the next byte is
/// added), its lower five bits and the next byte are the distance minus 1.
std::optional<std::size_t> inflate_lzf(std::span<const char> packed, std::span<char> room) {
  constexpr unsigned least_reference = 32;
  constexpr unsigned long_length = 7;
  std::size_t from = 0;
  std::size_t to = 0;
  const auto next = [&] { return static_cast<unsigned char>(packed[from++]); };
  while (from < packed.size()) {
    const unsigned control = next();
    if (control < least_reference) {
      const std::size_t run = control + 1;
      if (run > packed.size() - from || run > room.size() - to) return std::nullopt;
      std::memcpy(room.data() + to, packed.data() + from, run);
      from += run;
      to += run;
      continue;
    }
    std::size_t length = control >> 5U;
    if (packed.size() - from < (length == long_length ? 2U : 1U)) return std::nullopt;
    if (length == long_length) length += next();
    length += 2;
    const std::size_t distance = ((control & (least_reference - 1)) << 8U) + next() + 1;
    if (distance > to || length > room.size() - to) return std::nullopt;
    // Source and destination may overlap: bytes just written are then repeated.
    for (std::size_t i = 0; i < length; ++i, ++to) room[to] = room[to - distance];
  }
  return to;
}

}  // namespace TESSERA_NAMESPACE::gam
