// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/text.hpp"

#include <tessera/version.hpp>

#include <optional>
#include <string>
#include <string_view>

/// Parses fields as numbers. `ReadPlan::is_missing` decides which texts are missing values.
namespace TESSERA_NAMESPACE::gam {

/// A field without surrounding blanks; a newline within quotes is content.
[[nodiscard]] inline std::string_view trimmed_field(std::string_view field) noexcept {
  return base::trimmed(field, " \t\r");
}

/// A text for a message, with R's escapes for characters that are invisible or look like a blank:
/// "<U+00A0>1.5" begins with a no-break space.
[[nodiscard]] std::string visible_text(std::string text);

/// Parses a number as R does: decimal or hexadecimal, signed or not; Inf, infinity, NaN. Nothing for another
/// text. The text must be trimmed. Overflow gives infinity, underflow gives 0.
[[nodiscard]] std::optional<double> field_number(std::string_view text);
[[nodiscard]] std::optional<double> field_number(std::string_view text, bool decimal_comma);

/// Exchanges commas and points, for `field_number`.
[[nodiscard]] std::string with_decimal_point(std::string_view text);

}  // namespace TESSERA_NAMESPACE::gam
