// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/frame/extent.hpp"

#include <tessera/version.hpp>

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

/// Reads each number once, at about the speed at which a core reads memory.
[[nodiscard]] NumberScan scan(std::span<const double> numbers);

}  // namespace TESSERA_NAMESPACE::gam
