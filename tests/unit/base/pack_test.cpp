// SPDX-License-Identifier: Apache-2.0
#include "base/pack.hpp"

#include <gtest/gtest.h>

namespace tessera::base {
namespace {

TEST(Pack, GivesBackEveryTextAsItWas) {
  for (const Packing packing : {tight, lines}) {
    std::string all;
    for (const char* text : {"hello", "", "5:hello", "a\nb"}) pack(all, text, packing);
    std::string_view rest = all;
    for (const char* text : {"hello", "", "5:hello", "a\nb"}) EXPECT_EQ(unpack(rest, packing), text);
    EXPECT_TRUE(rest.empty());
  }
  std::string all;
  pack(all, "hello", tight);
  pack(all, "hello", lines);
  EXPECT_EQ(all, "5:hello5 hello\n");
}

TEST(Pack, TakesNothingThatIsNotWhole) {
  for (const std::string_view torn :
       {"", "5", "5:", "5:hell", "-1:x", "x:hello", "99999999999999999999:x", "18446744073709551615:x"}) {
    std::string_view rest = torn;
    EXPECT_EQ(unpack(rest, tight), std::nullopt) << torn;
  }
  for (const std::string_view torn : {"5 hello", "5 hellox", "5:hello\n", "18446744073709551615 x\n"}) {
    std::string_view rest = torn;
    EXPECT_EQ(unpack(rest, lines), std::nullopt) << torn;
  }
}

}  // namespace
}  // namespace tessera::base
