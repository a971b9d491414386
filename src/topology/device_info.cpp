// SPDX-License-Identifier: Apache-2.0
#include <tessera/topology/device_info.hpp>

#include <array>
#include <cstddef>
#include <cstdio>

namespace TESSERA_NAMESPACE {
namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";

/// The digits of a UUID are in groups of 8, 4, 4, 4 and 12: a dash precedes these bytes.
constexpr bool dash_before(std::size_t byte) {
  return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

constexpr int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string to_string(const Uuid& uuid) {
  std::string text = uuid.mig ? "MIG-" : "GPU-";
  for (std::size_t i = 0; i < uuid.bytes.size(); ++i) {
    if (dash_before(i)) text += '-';
    text += hex_digits[uuid.bytes[i] >> 4];
    text += hex_digits[uuid.bytes[i] & 15];
  }
  return text;
}

std::optional<Uuid> parse_uuid(std::string_view text) {
  constexpr std::size_t length = 4 + 32 + 4;
  if (text.size() != length) return std::nullopt;
  Uuid uuid;
  uuid.mig = text.substr(0, 4) == "MIG-";
  if (!uuid.mig && text.substr(0, 4) != "GPU-") return std::nullopt;
  std::size_t at = 4;
  for (std::size_t i = 0; i < uuid.bytes.size(); ++i) {
    if (dash_before(i) && text[at++] != '-') return std::nullopt;
    const int high = hex_value(text[at]);
    const int low = hex_value(text[at + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    uuid.bytes[i] = static_cast<std::uint8_t>(high * 16 + low);
    at += 2;
  }
  return uuid;
}

std::string to_string(const PciId& pci) {
  std::array<char, 32> text{};
  const char* format = pci.domain > 0xffff ? "%08x:%02x:%02x.0" : "%04x:%02x:%02x.0";
  std::snprintf(text.data(), text.size(), format, pci.domain, pci.bus, pci.device);
  return text.data();
}

}  // namespace TESSERA_NAMESPACE
