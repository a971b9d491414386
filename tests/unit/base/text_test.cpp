// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"

#include "base/hash.hpp"

#include <gtest/gtest.h>

namespace tessera::base {
namespace {

TEST(Text, IsTrimmedOfBlanksAtBothEnds) {
  EXPECT_EQ(trimmed(" \t a b \n"), "a b");
  EXPECT_EQ(trimmed(" \r\n"), "");
  EXPECT_EQ(trimmed("\na", " \t"), "\na");
}

TEST(Text, IsSplitIntoOnePartMoreThanItHasSeparators) {
  using Parts = std::vector<std::string_view>;
  EXPECT_EQ(split("a,,b", ','), (Parts{"a", "", "b"}));
  EXPECT_EQ(split("", ','), Parts{""});
  EXPECT_EQ(split("a,", ','), (Parts{"a", ""}));
}

// Values of draft-eastlake-fnv.
TEST(Hash, IsFnv1aAsPublished) {
  EXPECT_EQ(hex(fnv1a("")), "cbf29ce484222325");
  EXPECT_EQ(hex(fnv1a("a")), "af63dc4c8601ec8c");
  EXPECT_EQ(hex(fnv1a("foobar")), "85944171f73967e8");
  EXPECT_EQ(fnv1a("bar", fnv1a("foo")), fnv1a("foobar"));
}

}  // namespace
}  // namespace tessera::base
