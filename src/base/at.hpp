// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera::base {

/// A signed index that is known not to be negative, as containers count.
[[nodiscard]] constexpr std::size_t at(std::int64_t index) noexcept {
  return static_cast<std::size_t>(index);
}

}  // namespace tessera::base
