// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// p values adjusted for the false discovery rate. A NaN stays NaN. Source: Benjamini and Hochberg, JRSSB 57
/// (1995), 289-300.
[[nodiscard]] std::vector<double> false_discovery_rates(std::span<const double> p_values);

}  // namespace TESSERA_NAMESPACE::gam
