// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera::base {

/// Converts a signed index that is not negative to the index type of containers.
[[nodiscard]] constexpr std::size_t at(std::int64_t index) noexcept {
  return static_cast<std::size_t>(index);
}

}  // namespace tessera::base
