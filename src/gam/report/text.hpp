// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace TESSERA_NAMESPACE::gam {

/// A user's text for use in an element or a quoted attribute of HTML and SVG: markup characters are written
/// as references, and invalid UTF-8 and control characters as U+FFFD.
[[nodiscard]] std::string escaped(std::string_view text);

/// At most `most` UTF-8 characters; a longer text is cut, and ends with an ellipsis.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);
/// Number of UTF-8 characters.
[[nodiscard]] std::size_t length_of(std::string_view text);

/// A number with `digits` significant digits, and a true minus sign.
[[nodiscard]] std::string number_text(double value, int digits = 3);

/// 53933 as "53,933".
[[nodiscard]] std::string count_text(long long count);

}  // namespace TESSERA_NAMESPACE::gam
