// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <string>
#include <string_view>

/// Escaping of untrusted text (column names, paths, host names) for printing. A terminal obeys control
/// sequences in such a text, which may set the clipboard or forge output.
namespace TESSERA_NAMESPACE {

enum class Lines { one, many };

/// Returns `text` with characters escaped that are unsafe on a terminal. `Lines::many` keeps newlines;
/// `Lines::one` escapes them.
///
///     printable("a\x1b[2Jb")   ->  a\x1b[2Jb, an inert text
///
/// Escapes, as `\x1b` or `\u202e`: control characters, bidirectional controls (U+202A to U+202E, U+2066 to
/// U+2069), the line separators U+2028 and U+2029, and bytes that are not UTF-8. Pure; thread-safe; cost:
/// linear.
[[nodiscard]] TESSERA_EXPORT std::string printable(std::string_view text, Lines lines = Lines::one);

/// Length in bytes of the first character of `text`, which must not be empty; 0 if the text does not begin
/// with valid UTF-8 (RFC 3629).
[[nodiscard]] TESSERA_EXPORT std::size_t utf8_character_bytes(std::string_view text) noexcept;

}  // namespace TESSERA_NAMESPACE
