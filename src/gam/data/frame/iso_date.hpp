// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <optional>
#include <string_view>

namespace TESSERA_NAMESPACE::gam {

/// Units of the numbers that dates and times become.
inline constexpr std::string_view days_unit = "days since 1970-01-01";
inline constexpr std::string_view seconds_unit = "seconds since 1970-01-01 UTC";

struct IsoDate {
  double days = 0;     ///< since 1970-01-01; if there is a time, of the date as written
  double seconds = 0;  ///< since 1970-01-01 UTC; without a time, at 00:00 UTC of the date
  bool has_time = false;
};

/// Parses "2020-01-31", and with a time, behind 'T' or a blank: "2020-01-31T12:30", "2020-01-31
/// 12:30:59.25Z", "2020-01-31T12:30:59+01:00". The offset may be +01, +0100 or +01:00; without one the time
/// is UTC. Years have four digits, fractions of seconds at most nine. Nothing for any other text, or for a
/// day that no calendar has.
[[nodiscard]] std::optional<IsoDate> parse_iso_date(std::string_view text);

}  // namespace TESSERA_NAMESPACE::gam
