// SPDX-License-Identifier: Apache-2.0
#include "gam/data/frame/factor_levels.hpp"

#include "gam/data/frame/field_parsing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

std::optional<double> number_of_level(std::string_view level) {
  const auto number = field_number(trimmed_field(level));
  return number && std::isnan(*number) ? std::nullopt : number;
}

}  // namespace

void sort_levels(std::vector<std::string>& levels) {
  // std::string compares bytes as unsigned.
  std::sort(levels.begin(), levels.end());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  std::vector<std::pair<double, std::string>> numbered;
  for (const std::string& level : levels) {
    const auto number = number_of_level(level);
    if (!number) return;
    numbered.emplace_back(*number, level);
  }
  std::sort(numbered.begin(), numbered.end());
  for (std::size_t i = 0; i < levels.size(); ++i) levels[i] = std::move(numbered[i].second);
}

std::string number_level(std::string_view text, double number) {
  constexpr double first_inexact = 9007199254740992;
  return std::abs(number) < first_inexact ? fmt::format("{}", number + 0.0) : std::string(text);
}

bool are_number_levels(std::span<const std::string> levels) {
  return std::all_of(levels.begin(), levels.end(), [](const std::string& level) {
    const auto number = number_of_level(level);
    return number && number_level(level, *number) == level;
  });
}

bool all_truth_values(std::span<const std::string> texts) {
  return std::all_of(texts.begin(), texts.end(), [](const std::string& text) {
    return text == "T" || text == "F" || text == "TRUE" || text == "FALSE";
  });
}

std::string truth_value(std::string_view text) {
  return text == "T" ? "TRUE" : text == "F" ? "FALSE" : std::string(text);
}

}  // namespace TESSERA_NAMESPACE::gam
