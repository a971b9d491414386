// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/device_info.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace TESSERA_NAMESPACE::detail {

/// The inverse of `to_string`; digits are case-insensitive. Empty if `text` is not a UUID.
[[nodiscard]] inline std::optional<Uuid> parse_uuid(std::string text) {
  Uuid uuid;
  uuid.mig = text.starts_with("MIG-");
  std::size_t digits = 0;
  for (std::size_t i = 4; i < text.size() && digits < 2 * uuid.bytes.size(); ++i) {
    char& c = text[i];
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
    const std::size_t digit = std::string_view("0123456789abcdef").find(c);
    if (digit == std::string_view::npos) continue;
    std::uint8_t& byte = uuid.bytes[digits++ / 2];
    byte = static_cast<std::uint8_t>(std::size_t{16} * byte + digit);
  }
  if (text != to_string(uuid)) return std::nullopt;
  return uuid;
}

}  // namespace TESSERA_NAMESPACE::detail
