// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace tessera::base {
namespace {

/// The verdict of the writer of the model file, which must accept the text.
bool json_takes(const std::string& text) {
  try {
    static_cast<void>(nlohmann::json(text).dump());
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

TEST(Utf8, IsWhatAModelFileTakes) {
  // Every text of two bytes, and of four bytes at which the rules of RFC 3629 change.
  for (int i = 0; i < 0x10000; ++i) {
    const std::string text{static_cast<char>(i >> 8), static_cast<char>(i & 0xFF)};
    ASSERT_EQ(is_utf8(text), json_takes(text)) << i;
  }
  const std::string edges =
      "a\x7F\x80\x8F\x90\x9F\xA0\xBF\xC0\xC2\xDF\xE0\xE1\xED\xEE\xEF\xF0\xF1\xF4\xF5\xFF";
  for (const char a : edges)
    for (const char b : edges)
      for (const char c : edges)
        for (const char d : edges) {
          const std::string text{a, b, c, d};
          ASSERT_EQ(is_utf8(text), json_takes(text)) << ::testing::PrintToString(text);
        }
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("M\xC3\xBCnchen"));
  EXPECT_FALSE(is_utf8("M\xFCnchen"));
}

}  // namespace
}  // namespace tessera::base
