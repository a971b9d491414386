// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::base {

/// Levenshtein distance in bytes. Source: Wagner and Fischer, JACM 21 (1974).
[[nodiscard]] inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({row[j] + 1, row[j + 1] + 1, replaced}));
    }
  }
  return row[b.size()];
}

/// The text " (did you mean 'price'?)" for an unknown name `wanted`: it lists at most three of `names`, the
/// nearest ones, ignoring case. A name is near if its edit distance from `wanted` is at most 2 (1 if `wanted`
/// has two or three bytes, 0 if it has one). Empty if no name is near.
[[nodiscard]] inline std::string did_you_mean(std::span<const std::string> names, std::string_view wanted) {
  const auto lower = [](std::string_view text) {
    std::string result(text);
    for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return result;
  };
  std::size_t least = wanted.size() > 3 ? 2 : wanted.size() > 1 ? 1 : 0;
  std::vector<std::string_view> near;
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(lower(name), lower(wanted));
    if (name.empty() || distance > least) continue;
    if (distance < least) near.clear();
    least = distance;
    if (near.size() < 3) near.emplace_back(name);
  }
  std::string text;
  for (const std::string_view name : near) {
    text += text.empty() ? " (did you mean '" : " or '";
    text.append(name).append("'");
  }
  return text.empty() ? text : text + "?)";
}

/// `did_you_mean`, or if no name is near, the first names: " (it has 'a', 'b', 'c' and 7 more)".
[[nodiscard]] inline std::string names_like(std::span<const std::string> names, std::string_view wanted) {
  std::string text = did_you_mean(names, wanted);
  if (!text.empty() || names.empty()) return text;
  const std::size_t shown = std::min<std::size_t>(names.size(), 3);
  for (const std::string& name : names.first(shown))
    text += (text.empty() ? " (it has '" : ", '") + name + "'";
  if (names.size() > shown) text += " and " + std::to_string(names.size() - shown) + " more";
  return text + ")";
}

}  // namespace tessera::base
