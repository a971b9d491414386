// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace TESSERA_NAMESPACE::gam {

/// A stored type of numbers in native byte order, and its conversion to doubles.
struct NumberForm {
  std::size_t bytes = 0;
  void (*convert)(const std::byte* from, std::span<double> to) = nullptr;
  bool is_exact_in_float = false;  ///< each value of the type is exact as a float
};

template <class T>
void to_numbers(const std::byte* from, std::span<double> to) {
  for (double& number : to) {
    T value;
    std::memcpy(&value, from, sizeof value);
    number = static_cast<double>(value);
    from += sizeof value;
  }
}

template <class T>
[[nodiscard]] constexpr NumberForm form_of() noexcept {
  return {sizeof(T), to_numbers<T>, std::is_same_v<T, float> || sizeof(T) <= sizeof(std::int16_t)};
}

}  // namespace TESSERA_NAMESPACE::gam
