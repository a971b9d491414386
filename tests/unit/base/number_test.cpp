// SPDX-License-Identifier: Apache-2.0
#include "base/number.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace tessera::base {
namespace {

TEST(Number, IsAllOfItsText) {
  EXPECT_EQ(parse_number<int>("42"), 42);
  EXPECT_EQ(parse_number<int>("-7"), -7);
  EXPECT_EQ(parse_number<std::int64_t>("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(parse_number<std::uint64_t>("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(parse_number<double>("2.5e-3"), 0.0025);
  for (const char* text : {"", "-", "x", "1x", " 1", "1 ", "+1", "0x1", "1.5", "2147483648", "-2147483649"})
    EXPECT_EQ(parse_number<int>(text), std::nullopt) << text;
  for (const char* text : {"", ".", "1,5", "1e999", "1e-999", " 1", "+1"})
    EXPECT_EQ(parse_number<double>(text), std::nullopt) << text;
  EXPECT_EQ(parse_number<std::uint64_t>("-1"), std::nullopt);
}

TEST(Number, IsTakenOffTheFront) {
  std::string_view text = "12,x";
  EXPECT_EQ(take_number<int>(text), 12);
  EXPECT_EQ(text, ",x");
  EXPECT_EQ(take_number<int>(text), std::nullopt);
  EXPECT_EQ(text, ",x");
  text = "99999999999 ";
  EXPECT_EQ(take_number<int>(text), std::nullopt);
  EXPECT_EQ(text, "99999999999 ");
}

TEST(Number, HasAnExponent) {
  EXPECT_EQ(decimal_exponent("-1.50e-03"), -3);
  EXPECT_EQ(decimal_exponent("2e+308"), 308);
  EXPECT_EQ(decimal_exponent("1e00"), 0);
}

}  // namespace
}  // namespace tessera::base
