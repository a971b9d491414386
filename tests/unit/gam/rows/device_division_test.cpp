// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/device_division.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <tessera/error.hpp>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr std::int64_t gib = std::int64_t{1} << 30;
constexpr std::int64_t mib = std::int64_t{1} << 20;

TEST(DivideRows, KeepsAllThatFit) {
  EXPECT_EQ(divide_rows(800, 100, 10, 10'000), (DeviceDivision{800, 0}));
  EXPECT_EQ(divide_rows(800, std::int64_t{1} << 40, 10, 10'000), (DeviceDivision{800, 0}));
  EXPECT_EQ(divide_rows(1, 8192, 100, std::numeric_limits<std::int64_t>::max()), (DeviceDivision{1, 0}));
}

TEST(DivideRows, KeepsWhatPartsLeaveRoomFor) {
  // There is room for 800 rows: two parts of a block each, and six blocks.
  EXPECT_EQ(divide_rows(801, 100, 10, 10'000), (DeviceDivision{600, 100}));
  EXPECT_EQ(divide_rows(1'000'000, 100, 10, 10'000), (DeviceDivision{600, 100}));
  // The end of the rows that fit is not at a block's end.
  EXPECT_EQ(divide_rows(1'000'000, 300, 10, 10'000), (DeviceDivision{0, 300}));
}

TEST(DivideRows, HasPartsOfWholeBlocksThatAreNotLarge) {
  const DeviceDivision division = divide_rows(std::int64_t{1} << 40, 8192, 64, 100 * gib);
  EXPECT_EQ(division.part * 64, 256 * mib);
  EXPECT_EQ(division.resident % 8192, 0);
  EXPECT_LE((division.resident + parts_at_once * division.part) * 64, 80 * gib);
  EXPECT_GT((division.resident + parts_at_once * division.part + 8192) * 64, 80 * gib);
}

TEST(DivideRows, RefusesBlocksThatDoNotFit) {
  try {
    static_cast<void>(divide_rows(10'000, 500, 10, 10'000));
    FAIL() << "two blocks have 10,000 bytes";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::job_fault);
    EXPECT_EQ(std::string(error.what()),
              "2 blocks of 500 rows with 10 bytes per row exceed the device memory limit of 10000 bytes: use "
              "smaller blocks");
  }
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
