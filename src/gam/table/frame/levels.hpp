// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The levels of factors: which texts are one level, and their order.
namespace tessera::gam {

/// Makes them distinct and sorted: numerically where all of them are numbers, as R's factor() has those of
/// numbers, and else in byte order, which is the same in every locale.
void sort_levels(std::vector<std::string>& levels);

/// The level of a number, of which `text` is one spelling among others: 1 for 1.0 and 01. Whole numbers above
/// 2^53 are identifiers that a double may not tell apart, and stay as they are written.
[[nodiscard]] std::string number_level(std::string_view text, double number);
/// True if each is the level of a number.
[[nodiscard]] bool are_number_levels(std::span<const std::string> levels);

/// What R takes for a logical value; `truth_value` writes one in full.
[[nodiscard]] bool all_truth_values(std::span<const std::string> texts);
[[nodiscard]] std::string truth_value(std::string_view text);

}  // namespace tessera::gam
