// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

// Values that the kernel provides in small text files. An absent or malformed file gives an empty value.
// Running out of memory throws; streams of the standard library would report it as the end of the file.
namespace TESSERA_NAMESPACE::detail {

/// The text of a file, or its first `most` bytes.
[[nodiscard]] std::string text_of_file(const std::filesystem::path& file,
                                       std::size_t most = std::string::npos);

/// Calls `use` with each line, without its end, until it returns true.
template <class Use>
void each_line(std::string_view text, Use&& use) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (use(text.substr(0, end))) return;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// The first line of a file; empty if there is none.
[[nodiscard]] std::string first_line(const std::filesystem::path& file);

/// Parses the number at the beginning of `text`, after blanks, up to the next blank or the end, and removes
/// it from the text. Empty for anything else: "max", "unlimited", a number out of range.
[[nodiscard]] std::optional<std::int64_t> take_number(std::string_view& text);

/// The number at the beginning of a file.
[[nodiscard]] std::optional<std::int64_t> number_in(const std::filesystem::path& file);

/// The value of `key` in a file of lines "key number".
[[nodiscard]] std::optional<std::int64_t> number_of(const std::filesystem::path& file, std::string_view key);

}  // namespace TESSERA_NAMESPACE::detail
