// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <optional>
#include <string_view>

namespace TESSERA_NAMESPACE::gam {

inline constexpr std::string_view days_unit = "days since 1970-01-01";
inline constexpr std::string_view seconds_unit = "seconds since 1970-01-01 UTC";

struct IsoDate {
  double days = 0;     ///< days since 1970-01-01 of the date as written
  double seconds = 0;  ///< seconds since 1970-01-01 UTC; a date without a time means 00:00 UTC
  bool has_time = false;
};

/// Parses "2020-01-31", also with a time after 'T' or a blank: "2020-01-31T12:30", "2020-01-31 12:30:59.25Z",
/// "2020-01-31T12:30:59+01:00". The offset may be +01, +0100 or +01:00; a time without an offset is UTC.
/// Years have four digits, fractions of seconds at most nine. Nothing for any other text or an impossible
/// date.
[[nodiscard]] std::optional<IsoDate> parse_iso_date(std::string_view text);

}  // namespace TESSERA_NAMESPACE::gam
