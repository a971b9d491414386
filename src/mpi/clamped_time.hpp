// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <algorithm>
#include <chrono>

namespace TESSERA_NAMESPACE::mpi::detail {

/// At most a hundred years, because a longer time would overflow a clock's 64-bit nanoseconds.
[[nodiscard]] constexpr std::chrono::milliseconds clamped_time(std::chrono::milliseconds time) noexcept {
  return std::min<std::chrono::milliseconds>(time, std::chrono::years(100));
}

}  // namespace TESSERA_NAMESPACE::mpi::detail
