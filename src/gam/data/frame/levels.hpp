// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Levels of factors: equality of texts as levels, and their order.
namespace TESSERA_NAMESPACE::gam {

/// Removes duplicates and sorts: numerically if all are numbers, as R's factor() does for numbers, else in
/// byte order, which is the same in every locale.
void sort_levels(std::vector<std::string>& levels);

/// The level of a number with this spelling: 1 for 1.0 and 01. Integers above 2^53 are identifiers that
/// doubles may not distinguish, and keep their spelling.
[[nodiscard]] std::string number_level(std::string_view text, double number);
/// True if each is a number's level.
[[nodiscard]] bool are_number_levels(std::span<const std::string> levels);

/// Whether all texts are logical values in R; `truth_value` spells one in full.
[[nodiscard]] bool all_truth_values(std::span<const std::string> texts);
[[nodiscard]] std::string truth_value(std::string_view text);

}  // namespace TESSERA_NAMESPACE::gam
