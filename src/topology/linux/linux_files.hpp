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

// Values in small text files of the kernel. An absent or malformed file gives an empty value. Lack of memory
// throws, whereas standard streams would report the end of the file.
namespace TESSERA_NAMESPACE::detail {

/// The first `most` bytes.
[[nodiscard]] std::string text_of_file(const std::filesystem::path& file,
                                       std::size_t most = std::string::npos);

/// Calls `use` with each line, without the newline, until `use` returns true.
template <class Use>
void each_line(std::string_view text, Use&& use) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (use(text.substr(0, end))) return;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

[[nodiscard]] std::string first_line(const std::filesystem::path& file);

/// Removes leading blanks and the number after them, and returns the number, which must end at a blank or at
/// the end of `text`. Empty for other text ("max", "unlimited") and numbers out of range.
[[nodiscard]] std::optional<std::int64_t> take_number(std::string_view& text);

/// The number at the beginning of a file.
[[nodiscard]] std::optional<std::int64_t> number_in(const std::filesystem::path& file);

/// The number in the line "KEY NUMBER".
[[nodiscard]] std::optional<std::int64_t> number_of(const std::filesystem::path& file, std::string_view key);

}  // namespace TESSERA_NAMESPACE::detail
