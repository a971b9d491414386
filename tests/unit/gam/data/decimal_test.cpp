// SPDX-License-Identifier: Apache-2.0
#include "gam/data/csv/decimal.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cstdint>
#include <optional>
#include <random>
#include <string>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// The number of a whole text; digits after the text are not part of it.
std::optional<double> number_of(std::string text) {
  const std::size_t size = text.size();
  text += std::string(decimal_padding, '7');
  double value = 0;
  if (!read_decimal({text.data(), size}, value)) return std::nullopt;
  return value;
}

double by_the_library(const std::string& text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void expect_rounded(const std::string& text) {
  const auto value = number_of(text);
  ASSERT_TRUE(value.has_value()) << text;
  EXPECT_EQ(std::bit_cast<std::uint64_t>(*value), std::bit_cast<std::uint64_t>(by_the_library(text))) << text;
}

TEST(Decimal, IsRoundedAsTheLibraryRoundsIt) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 300'000; ++i) {
    // The text has any number of digits, and the point anywhere.
    std::string digits = std::to_string(random() >> (random() % 64));
    if (digits.size() > 19) digits.resize(19);
    digits.insert(random() % (digits.size() + 1), ".");
    expect_rounded((random() % 2 == 0 ? "-" : "") + digits);
  }
}

TEST(Decimal, IsRoundedToEvenHalfway) {
  // 2^53 + 1 and its neighbours by quarters, as integers and as decimals; the last digit breaks a tie.
  for (const char* text :
       {"9007199254740993", "9007199254740995", "9007199254740993.0", "9007199254740993.001",
        "9007199254740992.999", "900719925474099.3", "0.9007199254740993", "1.152921504606846977",
        "1152921504606846977", "9223372036854775807", "9999999999999999999", "0.9999999999999999999",
        "4503599627370497.5", "4503599627370496.5", "4503599627370496.501", "450359962737049.65"})
    expect_rounded(text);
}

TEST(Decimal, TakesPlainNotation) {
  for (const char* text : {"0", "-0", "0.0", "-0.0", "5.", ".5", "-.5", "00012.50", "12345678",
                           "123456789.12345678", "0000000000000000001", "0.1234567890123456789"})
    expect_rounded(text);
}

TEST(Decimal, LeavesOtherTextsAlone) {
  for (const char* text : {"",
                           "-",
                           ".",
                           "-.",
                           "+1",
                           " 1",
                           "1 ",
                           "1e5",
                           "0x10",
                           "1,5",
                           "--1",
                           "1.2.3",
                           "NA",
                           "Inf",
                           "0.01234567890123456789",
                           "1.2345678901234567890",
                           "18446744073709551616",
                           "18446744073709551616.5",
                           "12345678901234567890",
                           "1/",
                           "1:"})
    EXPECT_FALSE(number_of(text).has_value()) << text;
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
