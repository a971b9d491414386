// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/extent.hpp"

#include <tessera/version.hpp>

#include <cstdint>
#include <span>

namespace TESSERA_NAMESPACE::gam {

/// Result of one scan of some numbers.
struct NumberScan {
  Extent extent;           ///< without NaN
  bool all_finite = true;  ///< no NaN or infinity

  void add(const NumberScan& other) {
    extent.add(other.extent);
    all_finite = all_finite && other.all_finite;
  }
};

// The exponent of a non-finite number, all ones, carries into the sign bit.
inline constexpr std::uint64_t magnitude = ~(std::uint64_t{1} << 63);
inline constexpr std::uint64_t lowest_of_exponent = std::uint64_t{1} << 52;

/// Scans the numbers once, at about the memory bandwidth of a core.
[[nodiscard]] NumberScan scan(std::span<const double> numbers);

}  // namespace TESSERA_NAMESPACE::gam
