// SPDX-License-Identifier: Apache-2.0
#include "gam/data/bytes/kept_source.hpp"

#include "support/bgzip.hpp"
#include "temporary_folder.hpp"

#include <tessera/error.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

class KeptSourceTest : public ::testing::Test {
 protected:
  KeptSourceTest() {
    for (int i = 0; i < 60'000; ++i) text_ += std::to_string(i * 7919L % 1'000'003) + '\n';
  }

  KeptSource source_of(const std::string& packed) {
    const std::string path = (folder_ / "t.csv.gz").string();
    std::ofstream(path, std::ios::binary) << packed;
    return {path, gzip_packing};
  }
  /// A member without its size, as written by gzip.
  [[nodiscard]] std::string stream() const { return testing::gzip_member(text_); }
  [[nodiscard]] std::int64_t size() const { return std::ssize(text_); }

  void expect_text(ByteReader& source, std::int64_t offset) {
    std::string buffer(3000, '\0');
    source.seek(offset);
    const std::size_t got = source.read(buffer);
    EXPECT_EQ(buffer.substr(0, got), text_.substr(static_cast<std::size_t>(offset), buffer.size()));
  }
  void expect_text_everywhere(ByteReader& source) {
    for (const std::int64_t offset : {size() - 10, std::int64_t{0}, size() / 2, size()})
      expect_text(source, offset);
  }

  TemporaryFolder folder_;
  std::string text_;
};

TEST_F(KeptSourceTest, AStreamThatIsKeptIsNotReadAgain) {
  const std::string packed = stream();
  KeptSource source = source_of(packed);
  EXPECT_EQ(source.for_another_thread(), nullptr);
  EXPECT_EQ(source.keep_all(size() + 1), size());
  const auto other = source.for_another_thread();
  ASSERT_NE(other, nullptr);
  expect_text_everywhere(*other);
  expect_text_everywhere(source);
  EXPECT_EQ(source.bytes_read(), std::ssize(packed));
}

TEST_F(KeptSourceTest, AStreamThatThereIsNoRoomForIsReadAsItWas) {
  KeptSource source = source_of(stream() + stream());  // the last member would have room
  expect_text(source, 0);
  EXPECT_EQ(source.keep_all(size() + 100), std::nullopt);
  EXPECT_EQ(source.for_another_thread(), nullptr);
  expect_text(source, size() / 2);
  expect_text(source, 0);
}

TEST_F(KeptSourceTest, ADamagedStreamIsRefused) {
  std::string packed = stream();
  packed[packed.size() / 2] ^= 1;
  KeptSource source = source_of(packed);
  EXPECT_THROW(static_cast<void>(source.keep_all(2 * size())), Error);
}

// Like a stream that was made to fill memory and disks.
TEST_F(KeptSourceTest, AStreamThatUnpacksToManyTimesItsBytesIsTold) {
  const std::string path = (folder_ / "t.csv.gz").string();
  constexpr std::int64_t member_bytes = std::int64_t{64} << 20;
  const std::string member = testing::gzip_member(std::string(member_bytes, '1'));
  std::ofstream file(path, std::ios::binary);
  for (int i = 0; i < 5; ++i) file << member;
  file.close();
  std::vector<std::string> told;
  KeptSource source(path, gzip_packing, {.tell = [&](std::string_view line) { told.emplace_back(line); }});
  EXPECT_EQ(source.keep_all(6 * member_bytes), 5 * member_bytes);
  EXPECT_EQ(source.kept_bytes(), 5 * member_bytes);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_TRUE(told[0].starts_with(path + ": the data unpack to 10")) << told[0];
  EXPECT_TRUE(told[0].ends_with(" times the size of the file: 0.25 GiB so far, about 0.31 GiB in total"))
      << told[0];
}

TEST_F(KeptSourceTest, OneWhoIsAskedToStopDoesNotWaitForTheEndOfAMember) {
  struct Stopped {};
  int calls = 0;
  const std::string path = (folder_ / "t.csv.gz").string();
  std::ofstream(path, std::ios::binary) << stream();
  // The whole file is read in the first call.
  KeptSource source(path, gzip_packing, {.between = [&] {
                      if (++calls == 2) throw Stopped();
                    }});
  EXPECT_THROW(static_cast<void>(source.keep_all(size() + 1)), Stopped);
  EXPECT_FALSE(source.keeps_all());
  expect_text(source, 0);
}

TEST_F(KeptSourceTest, WhatWasLetGoIsUnpackedAgain) {
  KeptSource source = source_of(stream());
  EXPECT_EQ(source.keep_all(size() + 1), size());
  const std::int64_t read = source.bytes_read();
  source.evict();
  EXPECT_FALSE(source.keeps_all());
  expect_text_everywhere(source);
  EXPECT_GT(source.bytes_read(), read);
}

TEST_F(KeptSourceTest, ThreadsKeepTheirPartsOfAFileOfBlocks) {
  KeptSource source = source_of(testing::bgzip(text_, 5000));
  ASSERT_FALSE(source.packed().find_members().empty());
  const Range part{12'345, 200'000};
  source.begin_keeping(part);
  std::string buffer(static_cast<std::size_t>(part.size()) / 2, '\0');
  // One reads from before the part, the other beyond its end.
  for (const std::int64_t begin : {part.begin - 100, part.begin - 100 + std::ssize(buffer)}) {
    const auto other = source.for_another_thread();
    other->seek(begin);
    ASSERT_EQ(other->read(buffer), buffer.size());
  }
  expect_text(*source.for_another_thread(), part.end - 200);
  source.end_keeping();
  const std::int64_t read = source.bytes_read();
  for (std::int64_t at = part.begin; at + 3000 < part.end; at += 2999)
    expect_text(*source.for_another_thread(), at);
  EXPECT_EQ(source.bytes_read(), read);
  for (const std::int64_t at : {part.begin - 1000, part.end - 1000, part.end, size() - 10})
    expect_text(*source.for_another_thread(), at);
  EXPECT_GT(source.bytes_read(), read);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
