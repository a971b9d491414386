// SPDX-License-Identifier: Apache-2.0
#include "topology/linux/linux_files.hpp"

#include "base/descriptor.hpp"
#include "base/number.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace TESSERA_NAMESPACE::detail {

std::string text_of_file(const std::filesystem::path& file, std::size_t most) {
  const base::Descriptor in(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  while (in.is_open() && text.size() < most) {
    std::array<char, 4096> part;
    const ssize_t bytes = ::read(in.number(), part.data(), std::min(part.size(), most - text.size()));
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(bytes));
  }
  return text;
}

std::string first_line(const std::filesystem::path& file) {
  std::string text = text_of_file(file);
  text.resize(std::min(text.find('\n'), text.size()));
  return text;
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
  std::optional<std::int64_t> number;
  each_line(text_of_file(file), [&](std::string_view line) {
    if (!line.starts_with(key)) return false;
    line.remove_prefix(key.size());
    // The key must end here, because one key may be a prefix of another.
    if (!line.starts_with(' ') && !line.starts_with('\t')) return false;
    number = take_number(line);
    return true;
  });
  return number;
}

}  // namespace TESSERA_NAMESPACE::detail
