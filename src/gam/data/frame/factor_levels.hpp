// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Removes duplicates and sorts: numerically if all levels are numbers, like R's factor() of numbers;
/// otherwise in byte order, independent of the locale.
void sort_levels(std::vector<std::string>& levels);

/// The level for a number with this spelling: 1 for 1.0 and 01. Numbers of magnitude 2^53 or more keep their
/// spelling, because they may be identifiers that doubles do not distinguish.
[[nodiscard]] std::string number_level(std::string_view text, double number);
[[nodiscard]] bool are_number_levels(std::span<const std::string> levels);

/// Whether all texts are logical values in R. `truth_value` returns a value's full spelling.
[[nodiscard]] bool all_truth_values(std::span<const std::string> texts);
[[nodiscard]] std::string truth_value(std::string_view text);

}  // namespace TESSERA_NAMESPACE::gam
