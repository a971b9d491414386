// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>

/// Texts of others, such as a column's name, a path or a host's name, on their way to a terminal, which takes
/// some of their characters for commands: it would set the clipboard, or show what is not there.
namespace tessera::inline TESSERA_ABI {

enum class Lines { one, many };

/// A text as a terminal may have it: one line, or with the newlines that are in it.
///
///     printable("a\x1b[2Jb")   ->  a\x1b[2Jb, in which nothing is a command
///
/// Control characters, those that change the direction of a text (U+202A to U+202E, U+2066 to U+2069), the
/// line separators U+2028 and U+2029, and bytes that are not UTF-8 are written as `\x1b` or `\u202e`; all
/// else is kept. Pure; thread-safe; cost: linear.
[[nodiscard]] TESSERA_EXPORT std::string printable(std::string_view text, Lines lines = Lines::one);

/// Writes texts one after another to a stream, as `printable` has them, and flushes it; of one line the
/// newline, too. False, with `errno`, if that failed. Needs no memory.
TESSERA_EXPORT bool write_printable(std::FILE* stream, std::initializer_list<std::string_view> texts,
                                    Lines lines = Lines::one) noexcept;

/// Bytes of the character that `text`, which is not empty, begins with; 0 if it is not UTF-8 (RFC 3629).
[[nodiscard]] TESSERA_EXPORT std::size_t utf8_character_bytes(std::string_view text) noexcept;

}  // namespace tessera::inline TESSERA_ABI
