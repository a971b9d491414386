// SPDX-License-Identifier: Apache-2.0
#include "job/host_pass.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace tessera {
namespace {

/// Every part that was given out, in order of its first unit.
std::vector<Range> parts_of(Range range, std::int64_t block, int threads) {
  std::vector<Range> parts;
  std::mutex guard;
  compute_on_host(range, block, threads, [&](const HostTile& tile) {
    const std::lock_guard lock(guard);
    EXPECT_EQ(tile.threads, threads);
    EXPECT_GE(tile.thread, 0);
    EXPECT_LT(tile.thread, threads);
    parts.push_back(tile.range);
  });
  std::sort(parts.begin(), parts.end(), [](Range a, Range b) { return a.begin < b.begin; });
  return parts;
}

TEST(HostPass, CoversTheRangeInWholeBlocks) {
  for (const int threads : {1, 2, 5}) {
    for (const std::int64_t block : {1, 7, 64}) {
      for (const std::int64_t blocks : {1, 2, 31, 400}) {
        const Range range{3 * block, 3 * block + blocks * block - block / 2};
        std::int64_t at = range.begin;
        for (const Range part : parts_of(range, block, threads)) {
          EXPECT_EQ(part.begin, at);
          EXPECT_GT(part.end, part.begin);
          EXPECT_EQ((part.begin - range.begin) % block, 0);
          at = part.end;
        }
        EXPECT_EQ(at, range.end) << threads << " threads, " << blocks << " blocks of " << block;
      }
    }
  }
}

TEST(HostPass, OneThreadGetsAllAtOnce) {
  EXPECT_EQ(parts_of({10, 5000}, 10, 1), (std::vector<Range>{{10, 5000}}));
}

TEST(HostPass, AnEmptyRangeHasNoPart) {
  EXPECT_TRUE(parts_of({8, 8}, 4, 3).empty());
}

TEST(HostPass, TheLastUnitsThatThereCanBeAreCovered) {
  constexpr std::int64_t last = std::numeric_limits<std::int64_t>::max();
  const auto parts = parts_of({last - 10, last}, 3, 2);
  ASSERT_EQ(parts.size(), 4u);
  EXPECT_EQ(parts.back(), (Range{last - 1, last}));
}

TEST(HostPass, NoThreadWorksOnTwoPartsAtOnce) {
  constexpr int threads = 4;
  std::vector<std::atomic<int>> inside(threads);
  std::atomic<int> overlaps = 0;
  compute_on_host({0, 10'000}, 1, threads, [&](const HostTile& tile) {
    if (inside[static_cast<std::size_t>(tile.thread)]++ != 0) ++overlaps;
    --inside[static_cast<std::size_t>(tile.thread)];
  });
  EXPECT_EQ(overlaps, 0);
}

TEST(HostPass, TheEarliestExceptionIsTheOneForAnyNumberOfThreads) {
  for (const int threads : {1, 2, 4}) {
    for (int repetition = 0; repetition < 20; ++repetition) {
      try {
        compute_on_host({0, 128}, 1, threads, [](const HostTile& tile) {
          for (std::int64_t unit = tile.range.begin; unit < tile.range.end; ++unit) {
            if (unit >= 40) throw std::runtime_error("unit " + std::to_string(unit));
          }
        });
        ADD_FAILURE() << "nothing was thrown";
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "unit 40") << threads << " threads";
      }
    }
  }
}

}  // namespace
}  // namespace tessera
