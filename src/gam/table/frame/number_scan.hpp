// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/frame/extent.hpp"

#include <tessera/version.hpp>

#include <cstdint>
#include <span>

namespace TESSERA_NAMESPACE::gam {

/// What one scan tells of some numbers.
struct NumberScan {
  Extent extent;           ///< of those that are no NaN
  bool all_finite = true;  ///< none is NaN or infinite

  void add(const NumberScan& other) {
    extent.add(other.extent);
    all_finite = all_finite && other.all_finite;
  }
};

// An exponent of all ones, that of a number which is not finite, carries into the sign bit.
inline constexpr std::uint64_t magnitude = ~(std::uint64_t{1} << 63);
inline constexpr std::uint64_t lowest_of_exponent = std::uint64_t{1} << 52;

/// Reads each number once, at about the speed at which a core reads memory.
[[nodiscard]] NumberScan scan(std::span<const double> numbers);

}  // namespace TESSERA_NAMESPACE::gam
