// SPDX-License-Identifier: Apache-2.0
#include <tessera/topology/device_info.hpp>

#include <cstddef>
#include <cstdio>
#include <string_view>

namespace TESSERA_NAMESPACE {
namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";

/// Groups of 8, 4, 4, 4 and 12 hexadecimal digits.
constexpr bool dash_before(std::size_t byte) {
  return byte == 4 || byte == 6 || byte == 8 || byte == 10;
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

std::string to_string(const PciId& pci) {
  std::array<char, 32> text{};
  const char* format = pci.domain > 0xffff ? "%08x:%02x:%02x.0" : "%04x:%02x:%02x.0";
  std::snprintf(text.data(), text.size(), format, pci.domain, pci.bus, pci.device);
  return text.data();
}

}  // namespace TESSERA_NAMESPACE
