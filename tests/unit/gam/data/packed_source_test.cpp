// SPDX-License-Identifier: Apache-2.0
// Files that zstd, xz and bzip2 made, of two streams each.
#include "gam/data/bytes/packed_source.hpp"
#include "support/errors.hpp"
#include "temporary_folder.hpp"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace TESSERA_NAMESPACE::gam {
namespace {

struct PackedBy {
  std::string_view name;
  std::string_view first;   ///< hexadecimal: a header, 400 rows 1,2 and a row 3,4
  std::string_view second;  ///< three rows 5,6
};

std::ostream& operator<<(std::ostream& out, const PackedBy& packing) {
  return out << packing.name;
}

constexpr PackedBy packed_files[] = {
    {"zstd", "28b52ffd045895000058782c790a312c32332c340a01003afe3b2328ed7785",
     "28b52ffd0458610000352c360a352c360a352c360a75dbcd25"},
    {"xz",
     "fd377a585a000004e6d6b4460200210116000000742fe5a3e00647001a5d003c0b0b20a674d2aecb298512b5ca6c90da727f56f"
     "9"
     "260efa00000000002cc8bf2c008346e1000136c80c000000cf2cc582b1c467fb020000000004595a",
     "fd377a585a000004e6d6b4460200210116000000742fe5a3e0000b00095d001a8b032ec0c8cde000000000005483b700aeaa746"
     "5"
     "0001250ce729c3c11fb6f37d010000000004595a"},
    {"bzip2",
     "425a6839314159265359db434dae0003235880001000043c0000602000310c080a8a8cc9bc084ce84266e04268425b6f85dc914"
     "e"
     "142436d0d36b80",
     "425a683931415926535964f220e20000045800001000040300200021b468334d11309c5dc914e1424193c88388"}};

std::string bytes_of(std::string_view hexadecimal) {
  std::string bytes;
  for (std::size_t i = 0; i < hexadecimal.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hexadecimal.substr(i, 2)), nullptr, 16));
  return bytes;
}

class PackedFile : public ::testing::TestWithParam<PackedBy> {
 protected:
  void SetUp() override {
    for (int row = 0; row < 400; ++row) all_ += "1,2\n";
    all_ += "3,4\n5,6\n5,6\n5,6\n";
    whole_ = bytes_of(GetParam().first) + bytes_of(GetParam().second);
    write(whole_);
    packing_ = packing_of(files::InputFile(path()));
    if (packing_ == nullptr) GTEST_SKIP() << "this build has no " << GetParam().name;
  }
  void write(const std::string& bytes) const { std::ofstream(path(), std::ios::binary) << bytes; }
  [[nodiscard]] std::string path() const { return (folder_ / "t.csv").string(); }

  /// The unpacked content of a file of these bytes; nothing if it is refused.
  std::optional<std::string> unpacked(const std::string& bytes) {
    write(bytes);
    std::string text;
    const auto fault = error_if_any(ErrorCode::input, [&] {
      PackedSource source(path(), *packing_);
      std::array<char, 7> buffer{};
      while (const std::size_t got = source.read(buffer)) text.append(buffer.data(), got);
    });
    fault_ = fault.value_or("");
    return fault ? std::nullopt : std::optional(text);
  }

  TemporaryFolder folder_;
  const Packing* packing_ = nullptr;
  std::string whole_;
  std::string all_ = "x,y\n";
  std::string fault_;
};

TEST_P(PackedFile, HasItsContent) {
  EXPECT_EQ(unpacked(whole_), all_);
  PackedSource source(path(), *packing_);
  std::array<char, 4> buffer{};
  for (const std::size_t offset : {std::size_t{1600}, std::size_t{4}, all_.size() - 4, std::size_t{0}}) {
    source.seek(static_cast<std::int64_t>(offset));
    ASSERT_EQ(source.read(buffer), buffer.size());
    EXPECT_EQ(std::string(buffer.data(), buffer.size()), all_.substr(offset, buffer.size()));
  }
  EXPECT_EQ(source.for_another_thread(), nullptr);
  EXPECT_TRUE(source.find_members().empty());
  const std::shared_ptr<char[]> room(new char[all_.size() + 1]);
  EXPECT_EQ(source.unpack_all(room, all_.size() + 1), std::ssize(all_));
  EXPECT_EQ(std::string(room.get(), all_.size()), all_);
  EXPECT_EQ(source.unpack_all(room, all_.size() - 1), std::nullopt);
}

TEST_P(PackedFile, LosesNoBytesByDamage) {
  const std::string first = bytes_of(GetParam().first);
  for (std::size_t size = 10; size < whole_.size(); ++size) {
    const auto got = unpacked(whole_.substr(0, size));
    if (size == first.size())
      EXPECT_EQ(got, all_.substr(0, all_.size() - 12));
    else
      EXPECT_EQ(got, std::nullopt) << size;
  }
  EXPECT_NE(
      fault_.find("t.csv: cannot be read: it has damaged " + std::string(GetParam().name) + " data at byte "),
      std::string::npos)
      << fault_;
  for (std::size_t bit = 0; bit < 8 * whole_.size(); ++bit) {
    std::string damaged = whole_;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    const auto got = unpacked(damaged);
    EXPECT_TRUE(!got || *got == all_) << bit;
  }
  EXPECT_EQ(unpacked(whole_ + "more"), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(All, PackedFile, ::testing::ValuesIn(packed_files),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
