// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

// What the kernel tells in small files of text. What is not there, or written otherwise, is nothing.
namespace tessera::inline TESSERA_ABI::detail {

/// The first line of a file; empty if there is none.
[[nodiscard]] std::string first_line(const std::filesystem::path& file);

/// The number that `text` begins with, after blanks, up to its end or the next blank, and takes it off the
/// text. Nothing for anything else: "max", "unlimited", a number that does not fit.
[[nodiscard]] std::optional<std::int64_t> take_number(std::string_view& text);

/// The number that a file begins with.
[[nodiscard]] std::optional<std::int64_t> number_in(const std::filesystem::path& file);

/// The number behind `key` in a file of lines "key number".
[[nodiscard]] std::optional<std::int64_t> number_of(const std::filesystem::path& file, std::string_view key);

}  // namespace tessera::inline TESSERA_ABI::detail
