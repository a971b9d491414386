// SPDX-License-Identifier: Apache-2.0
#include "gam/data/bytes/byte_source.hpp"
#include "gam/data/bytes/packed_source.hpp"
#include "support/bgzip.hpp"
#include "support/errors.hpp"
#include "temporary_folder.hpp"

#include <tessera/error.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zlib.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

class ByteSourceTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return (folder_ / "t.csv.gz").string(); }

  /// The unpacked content of a file of these bytes; nothing if it is refused.
  std::optional<std::string> unpacked(const std::string& bytes) {
    std::ofstream(path(), std::ios::binary) << bytes;
    std::string text;
    const auto fault = error_if_any(ErrorCode::input, [&] {
      const auto source = std::make_unique<PackedSource>(path(), gzip_packing);
      std::array<char, 7> buffer{};
      while (const std::size_t got = source->read(buffer)) text.append(buffer.data(), got);
    });
    if (fault) fault_ = *fault;
    return fault ? std::nullopt : std::optional(text);
  }

  /// One member of a gzip file.
  [[nodiscard]] std::string packed(const std::string& text) const {
    gzFile out = gzopen(path().c_str(), "wb");
    gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
    gzclose(out);
    std::ifstream in(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  TemporaryFolder folder_;
  std::string fault_;
};

TEST_F(ByteSourceTest, NoDamagedBitLosesBytesOfAGzipFile) {
  const std::string text = "x,y\n1,2\n3,4\n";
  const std::string first = packed(text);
  const std::string whole = first + packed("5,6\n7,8\n");
  const std::string all = text + "5,6\n7,8\n";
  ASSERT_EQ(unpacked(whole), all);
  int refused = 0;
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    const auto got = unpacked(damaged);
    if (!got) {
      ++refused;
      EXPECT_NE(fault_.find("t.csv.gz: cannot be read: it has damaged gzip data at byte "), std::string::npos)
          << fault_;
    } else {
      EXPECT_EQ(*got, all) << "bit " << bit;  // a time stamp's, for example
    }
  }
  EXPECT_GT(refused, 300);
}

TEST_F(ByteSourceTest, AGzipFileThatIsCutShortIsRefused) {
  const std::string first = packed("x,y\n1,2\n");
  const std::string whole = first + packed("3,4\n");
  for (std::size_t size = 1; size < whole.size(); ++size) {
    if (size == first.size()) continue;
    EXPECT_EQ(unpacked(whole.substr(0, size)), std::nullopt) << size;
  }
  EXPECT_NE(fault_.find("the file ends within compressed data"), std::string::npos) << fault_;
}

TEST_F(ByteSourceTest, ZerosAloneMayStandBehindAGzipFile) {
  const std::string whole = packed("x,y\n1,2\n");
  EXPECT_EQ(unpacked(whole + std::string(1000, '\0')), "x,y\n1,2\n");
  EXPECT_EQ(unpacked(whole + "rubbish"), std::nullopt);
  EXPECT_EQ(unpacked(whole + std::string(10, '\0') + whole), std::nullopt);
  EXPECT_NE(fault_.find("further data follow 10 zero bytes"), std::string::npos) << fault_;
}

TEST_F(ByteSourceTest, GoesBackAndForthInAGzipFile) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += std::to_string(i) + '\n';
  const std::string half = packed(text.substr(0, text.size() / 2));
  const std::string whole = half + packed(text.substr(text.size() / 2));
  std::ofstream(path(), std::ios::binary) << whole;
  const auto source = std::make_unique<PackedSource>(path(), gzip_packing);
  std::array<char, 100> buffer{};
  for (const std::size_t offset : {std::size_t{5}, text.size() - 100, std::size_t{0}, text.size() / 2 - 50}) {
    source->seek(static_cast<std::int64_t>(offset));
    ASSERT_EQ(source->read(buffer), buffer.size());
    EXPECT_EQ(std::string(buffer.data(), buffer.size()), text.substr(offset, buffer.size()));
  }
}

/// Text that deflate writes in several blocks.
std::string long_text() {
  std::mt19937_64 random(9);
  std::string text;
  for (int i = 0; i < 60'000; ++i) text += std::to_string(random() % 1'000'000) + '\n';
  return text;
}

/// Expects the bytes of `text` from any offset on, from several sources for other threads.
void expect_from_anywhere(ByteSource& source, const std::string& text) {
  std::mt19937_64 random(4);
  std::string buffer(3000, '\0');
  const auto first = source.for_another_thread();
  const auto second = source.for_another_thread();
  ASSERT_NE(first, nullptr);
  for (int i = 0; i < 200; ++i) {
    const auto& one = i % 3 == 0 ? first : second;
    const std::size_t offset = random() % (text.size() + 1);
    one->seek(static_cast<std::int64_t>(offset));
    const std::size_t got = one->read(buffer);
    ASSERT_EQ(buffer.substr(0, got), text.substr(offset, buffer.size())) << offset;
  }
}

TEST_F(ByteSourceTest, AGzipStreamIsReadInOrder) {
  std::ofstream(path(), std::ios::binary) << packed(long_text());
  const auto source = std::make_unique<PackedSource>(path(), gzip_packing);
  EXPECT_TRUE(source->find_members().empty());
  std::string buffer(10'000, '\0');
  while (source->read(buffer) == buffer.size()) continue;
  EXPECT_EQ(source->for_another_thread(), nullptr);
}

// Skipped bytes may be most of a large file.
TEST_F(ByteSourceTest, OneWhoIsAskedToStopDoesNotWaitForAPlaceInAStream) {
  struct Stopped {};
  const std::string text(std::size_t{20} << 20, '1');
  std::ofstream(path(), std::ios::binary) << packed(text);
  int calls = 0;
  const auto source = std::make_unique<PackedSource>(path(), gzip_packing, OpenOptions{.between = [&] {
                                                       if (++calls == 3) throw Stopped();
                                                     }});
  EXPECT_THROW(source->seek(std::ssize(text)), Stopped);
}

TEST_F(ByteSourceTest, AFileOfBlocksIsReadFromAnywhereAtOnce) {
  const std::string text = long_text();
  std::ofstream(path(), std::ios::binary) << testing::bgzip(text, 5000);
  const auto source = std::make_unique<PackedSource>(path(), gzip_packing);
  const std::vector<GzipMember> members = source->find_members();
  ASSERT_FALSE(members.empty());
  EXPECT_EQ(members.back().unpacked, std::ssize(text));
  expect_from_anywhere(*source, text);
  // A found index serves another source of the same file.
  const auto other = std::make_unique<PackedSource>(path(), gzip_packing);
  other->set_members(members);
  expect_from_anywhere(*other, text);
}

TEST_F(ByteSourceTest, NoDamagedBitLosesBytesOfAFileOfBlocks) {
  const std::string text = "x,y\n1,2\n3,4\n5,6\n7,8\n";
  const std::string whole = testing::bgzip(text, 9);
  std::string buffer(1 << 20, '\0');
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    std::ofstream(path(), std::ios::binary) << damaged;
    error_if_any(ErrorCode::input, [&] {
      const auto source = std::make_unique<PackedSource>(path(), gzip_packing);
      const bool by_blocks = !source->find_members().empty();
      const auto other = source->for_another_thread();
      ASSERT_EQ(other != nullptr, by_blocks);
      const std::size_t got = by_blocks ? other->read(buffer) : source->read(buffer);
      EXPECT_EQ(buffer.substr(0, got), text) << "bit " << bit;  // a time stamp's, for example
    });
  }
}

TEST_F(ByteSourceTest, ABlockOfAnotherSizeThanItSaysIsRefused) {
  const std::string first = testing::bgzip_block("x,y\n1,2\n");
  const std::string second = testing::bgzip_block("3,4\n");
  // The first block skips the second, to a third.
  std::string hidden = first + second;
  hidden[16] = static_cast<char>(hidden.size() - 1);
  std::ofstream(path(), std::ios::binary) << hidden << testing::bgzip_block("5,6\n");
  const auto source = std::make_unique<PackedSource>(path(), gzip_packing);
  ASSERT_FALSE(source->find_members().empty());
  std::string buffer(100, '\0');
  EXPECT_THROW(static_cast<void>(source->for_another_thread()->read(buffer)), Error);
}

TEST_F(ByteSourceTest, APipeIsRefusedAndNotWaitedFor) {
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  const auto expect_refused = [&](const auto& open) {
    EXPECT_EQ(error_of(ErrorCode::input, open), path() + ": cannot be read: it is not a regular file");
  };
  expect_refused([&] { return open_plain(path()); });
  expect_refused([&] { return std::make_unique<PackedSource>(path(), gzip_packing); });
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
