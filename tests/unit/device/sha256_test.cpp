// SPDX-License-Identifier: Apache-2.0
#include "device/sha256.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// The examples of FIPS 180 and of NIST's page of example values.
TEST(Sha256, GivesTheDigestsOfTheStandard) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(
      sha256("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlm"
             "nopqrsmnopqrstnopqrstu"),
      "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Every length of the last block, with padding in one block or two: the digest of the digests of 0 to 199
// letters, from another implementation.
TEST(Sha256, PadsEveryLength) {
  std::string digests;
  for (std::size_t size = 0; size < 200; ++size) digests += sha256(std::string(size, 'a'));
  EXPECT_EQ(sha256(digests), "019f2b9f1af27a53a1f046da7e98af2c179f431e4b5bebb000e74040917a4123");
}

TEST(Sha256, TakesBytesAndNotCharacters) {
  EXPECT_EQ(sha256(std::string("\xbd", 1)),
            "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b");
  EXPECT_EQ(sha256(std::string(4, '\0')), "df3f619804a92fdb4057192dc43dd748ea778adc52bc498ce80524c014b81119");
}

}  // namespace
}  // namespace tessera
