// SPDX-License-Identifier: Apache-2.0
#include "gam/data/bytes/inflater.hpp"

#include "gam/data/bytes/gzip_members.hpp"
#include "support/bgzip.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

namespace TESSERA_NAMESPACE::gam {
namespace {

std::string some_text() {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += std::to_string(i * i) + ',';
  return text;
}

std::string zlib_of(const std::string& text) {
  uLongf size = compressBound(text.size());
  std::string packed(size, '\0');
  compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(text.data()),
           text.size());
  packed.resize(size);
  return packed;
}

TEST(Inflater, UnpacksWhatIsWholeAndHasRoom) {
  const std::string text = some_text();
  const std::string packed = zlib_of(text);
  std::string room(text.size(), '\0');
  EXPECT_EQ(inflate_zlib(packed, room), text.size());
  EXPECT_EQ(room, text);
  EXPECT_EQ(inflate_zlib(packed, std::span(room).first(room.size() - 1)), std::nullopt);
  EXPECT_EQ(inflate_zlib(std::span(packed).first(packed.size() - 1), room), std::nullopt);
  std::string damaged = packed;
  damaged[packed.size() / 2] ^= 1;
  EXPECT_EQ(inflate_zlib(damaged, room), std::nullopt);
  EXPECT_EQ(inflate_zlib(packed, room), text.size());
}

TEST(Inflater, TellsWhereAGzipMemberEnds) {
  const std::string text = some_text().substr(0, 60'000);
  const std::string member = testing::bgzip_block(text);
  std::string room(text.size() + 5, '\0');
  const auto amounts = inflate_gzip_member(member + "more", room);
  ASSERT_TRUE(amounts.has_value());
  EXPECT_EQ(amounts->packed, member.size());
  EXPECT_EQ(amounts->unpacked, text.size());
  EXPECT_EQ(room.substr(0, text.size()), text);
}

TEST(Inflater, UnpacksAnEmptyMemberToNowhere) {
  const auto amounts = inflate_gzip_member(testing::bgzip_block({}), {});
  ASSERT_TRUE(amounts.has_value());
  EXPECT_EQ(amounts->unpacked, 0U);
}

TEST(UnpackGzip, TakesAllMembersAndZerosBehindThem) {
  const std::string text = some_text();
  const std::string packed = testing::bgzip(text, 7000);
  std::string room(text.size() + 1, '\0');
  EXPECT_EQ(unpack_gzip(packed, room), text.size());
  EXPECT_EQ(room.substr(0, text.size()), text);
  EXPECT_EQ(unpack_gzip(packed + std::string(100, '\0'), room), text.size());
  EXPECT_EQ(unpack_gzip(packed + "rubbish", room), std::nullopt);
  EXPECT_EQ(unpack_gzip(packed + std::string(10, '\0') + packed, room), std::nullopt);
  EXPECT_EQ(unpack_gzip({}, room), std::nullopt);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
