// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <string>
#include <string_view>

/// Escapes text from outside, such as a column's name, a path or a host's name, before it is printed on a
/// terminal, where some characters act as commands, for example to set the clipboard or to fake output.
namespace TESSERA_NAMESPACE {

enum class Lines { one, many };

/// Escapes a text for a terminal: as one line, or with its newlines kept.
///
///     printable("a\x1b[2Jb")   ->  a\x1b[2Jb, an inert text
///
/// Control characters, those that change the direction of a text (U+202A to U+202E, U+2066 to U+2069), the
/// line separators U+2028 and U+2029, and bytes that are not UTF-8 are written as `\x1b` or `\u202e`; all
/// else is kept. Pure; thread-safe; cost: linear.
[[nodiscard]] TESSERA_EXPORT std::string printable(std::string_view text, Lines lines = Lines::one);

/// Length in bytes of the first character of `text`, which is not empty; 0 if it is not UTF-8 (RFC 3629).
[[nodiscard]] TESSERA_EXPORT std::size_t utf8_character_bytes(std::string_view text) noexcept;

}  // namespace TESSERA_NAMESPACE
