// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

// Values that the kernel provides in small text files. A file that is absent or malformed gives an empty
// value.
namespace TESSERA_NAMESPACE::detail {

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
