// SPDX-License-Identifier: Apache-2.0
#include "gam/data/frame/iso_date.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Days of a date, or NaN.
double days_of(const std::string& text) {
  const auto date = parse_iso_date(text);
  return date && !date->has_time ? date->days : std::numeric_limits<double>::quiet_NaN();
}
/// Seconds of a time, or NaN.
double seconds_of(const std::string& text) {
  const auto date = parse_iso_date(text);
  return date && date->has_time ? date->seconds : std::numeric_limits<double>::quiet_NaN();
}

TEST(IsoDate, IsDaysSince1970) {
  EXPECT_EQ(days_of("1970-01-01"), 0);
  EXPECT_EQ(days_of("1969-12-31"), -1);
  EXPECT_EQ(days_of("2020-02-29"), 18321);
  EXPECT_EQ(days_of("0001-01-01"), -719162);
  EXPECT_EQ(days_of("9999-12-31"), 2932896);
  EXPECT_EQ(parse_iso_date("1970-01-03")->seconds, 2 * 86400);
}

TEST(IsoDate, WithATimeIsSecondsInUtc) {
  EXPECT_EQ(seconds_of("1970-01-01T00:00"), 0);
  EXPECT_EQ(seconds_of("1970-01-01 00:01:02"), 62);
  EXPECT_EQ(seconds_of("2020-01-31T12:30:00Z"), 1580473800);
  EXPECT_EQ(seconds_of("2020-01-31T13:30:00+01:00"), 1580473800);
  EXPECT_EQ(seconds_of("2020-01-31T13:30:00+0100"), 1580473800);
  EXPECT_EQ(seconds_of("2020-01-31 06:30:00-06"), 1580473800);
  EXPECT_EQ(seconds_of("2020-01-31T18:00+05:30"), 1580473800);
  EXPECT_EQ(seconds_of("1970-01-01T00:00:00.25"), 0.25);
  EXPECT_EQ(seconds_of("1969-12-31T23:59:59.75"), -0.25);
  EXPECT_EQ(seconds_of("1970-01-01T00:00:01,5Z"), 1.5);
  // The nearest number, as of a column of microseconds; and that of one of nanoseconds.
  EXPECT_EQ(seconds_of("2020-01-31T12:30:00.1"), 1580473800.1);
  EXPECT_EQ(seconds_of("2020-01-31T12:30:00.123457"), 1580473800.123457);
  EXPECT_EQ(seconds_of("2020-01-31T12:30:00.123456789"), static_cast<double>(1580473800123456789) / 1e9);
  EXPECT_EQ(seconds_of("9999-12-31T23:59:59.999999999"), 253402300800.0);
}

TEST(IsoDate, IsNoOtherText) {
  for (const char* text : {"",
                           "2020",
                           "2020-01",
                           "20200131",
                           "2020-1-31",
                           "2020-01-31T",
                           "2020-01-31Z",
                           "2020-02-30",
                           "2021-02-29",
                           "2020-13-01",
                           "2020-00-01",
                           "2020-01-00",
                           "31.01.2020",
                           "01/31/2020",
                           "2020/01/31",
                           "2020-01-31T24:00",
                           "2020-01-31T12",
                           "2020-01-31T12:60",
                           "2020-01-31T12:30:60",
                           "2020-01-31T12:30:",
                           "2020-01-31T12:30:00.",
                           "2020-01-31T12:30:00.1234567890",
                           "2020-01-31T12:30.5",
                           "2020-01-31T12:30+1",
                           "2020-01-31T12:30+01:",
                           "2020-01-31T12:30+01:60",
                           "2020-01-31T12:30+24",
                           "2020-01-31T12:30Zx",
                           "2020-01-31T12:30 UTC",
                           "2020-01-31  12:30",
                           "-2020-01-31",
                           "2020-01-31x",
                           "12020-01-31"})
    EXPECT_FALSE(parse_iso_date(text)) << text;
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
