// SPDX-License-Identifier: Apache-2.0
#include "topology/linux/linux_files.hpp"

#include "base/number.hpp"

#include <algorithm>
#include <fstream>

namespace TESSERA_NAMESPACE::detail {

std::string first_line(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

std::optional<std::int64_t> take_number(std::string_view& text) {
  constexpr std::string_view blanks = " \t\n";
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(blanks));
  const auto value = base::parse_number<std::int64_t>(word);
  if (value) text.remove_prefix(word.size());
  return value;
}

std::optional<std::int64_t> number_in(const std::filesystem::path& file) {
  const std::string line = first_line(file);
  std::string_view text = line;
  return take_number(text);
}

std::optional<std::int64_t> number_of(const std::filesystem::path& file, std::string_view key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::string_view rest = line;
    if (!rest.starts_with(key)) continue;
    rest.remove_prefix(key.size());
    // One key may be a prefix of another.
    if (rest.starts_with(' ') || rest.starts_with('\t')) return take_number(rest);
  }
  return std::nullopt;
}

}  // namespace TESSERA_NAMESPACE::detail
