// SPDX-License-Identifier: Apache-2.0
#include "gam/data/bytes/lzf.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// h5py 3.16: create_dataset(data=…, compression="lzf", chunks=(64,)), and the numbers that it packs.
constexpr std::array<unsigned char, 74> packed_by_h5py{
    0x01, 0x00, 0x00, 0x40, 0x00, 0x00, 0x01, 0x60, 0x01, 0x00, 0x02, 0x40, 0x0a, 0x02, 0x00,
    0xe9, 0x03, 0xe0, 0x03, 0x0d, 0x00, 0x00, 0x20, 0x19, 0x02, 0xd2, 0x07, 0x01, 0xa0, 0x1b,
    0x40, 0x0d, 0x40, 0x1d, 0x01, 0xbb, 0x0b, 0x20, 0x0a, 0x20, 0x00, 0x40, 0x0b, 0x80, 0x1b,
    0x01, 0xa4, 0x0f, 0x80, 0x1b, 0x00, 0x05, 0xe0, 0x00, 0x01, 0x01, 0x8d, 0x13, 0xe0, 0x01,
    0x0b, 0x80, 0x09, 0x01, 0x76, 0x17, 0x80, 0x07, 0xe0, 0x01, 0x05, 0x01, 0x5f, 0x1b};

std::array<std::int16_t, 64> numbers() {
  std::array<std::int16_t, 64> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<std::int16_t>(i < 40 ? i % 7 / 3 : 5);
    if (i % 9 == 0) numbers[i] = static_cast<std::int16_t>(i / 9 * 1001);
  }
  return numbers;
}

std::span<const char> packed() {
  return {reinterpret_cast<const char*>(packed_by_h5py.data()), packed_by_h5py.size()};
}

TEST(Lzf, UnpacksWhatH5pyPacks) {
  const auto expected = numbers();
  std::array<std::int16_t, 64> found{};
  EXPECT_EQ(inflate_lzf(packed(), {reinterpret_cast<char*>(found.data()), sizeof found}), sizeof found);
  EXPECT_EQ(found, expected);
}

TEST(Lzf, FindsDamageWithoutLeavingTheRoom) {
  std::array<char, sizeof(numbers())> room{};
  for (std::size_t size = 1; size < packed().size(); ++size) {
    const auto found = inflate_lzf(packed().first(size), room);
    EXPECT_TRUE(!found || *found < room.size()) << size;
  }
  EXPECT_FALSE(inflate_lzf(packed(), std::span(room).first(100)));
  // A repetition of bytes before the first one.
  constexpr std::array<char, 4> before{0, 'a', 0x20, 5};
  EXPECT_FALSE(inflate_lzf(before, room));
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
