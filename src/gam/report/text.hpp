// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace TESSERA_NAMESPACE::gam {

/// Text of the user's as it may stand in an element or a quoted attribute of HTML and SVG: the five signs of
/// markup are written as references; what is no UTF-8, or a control character, as U+FFFD.
[[nodiscard]] std::string escaped(std::string_view text);

/// At most so many characters of UTF-8, the last one of a longer text being an ellipsis.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);
/// Characters of UTF-8.
[[nodiscard]] std::size_t length_of(std::string_view text);

/// A number in so many significant digits, with a true minus sign.
[[nodiscard]] std::string number_text(double value, int digits = 3);

/// 53933 as "53,933".
[[nodiscard]] std::string count_text(long long count);

}  // namespace TESSERA_NAMESPACE::gam
