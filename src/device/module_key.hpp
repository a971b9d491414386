// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/kernel_compiler.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// FNV-1a, going on from `hash`. It finds accidents; it is no defence against malice.
[[nodiscard]] inline std::uint64_t fnv1a(std::string_view text, std::uint64_t hash = 0xcbf29ce484222325u) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

/// Sixteen digits.
[[nodiscard]] inline std::string hex(std::uint64_t value) {
  std::string text(16, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, value >>= 4)
    *digit = "0123456789abcdef"[value & 15];
  return text;
}

/// One text of several, so that no two lists of texts look the same.
[[nodiscard]] std::string joined(const std::vector<std::string_view>& texts);

/// All of a source that its code depends on.
[[nodiscard]] std::string key_of(const ModuleSource& source);

}  // namespace tessera
