// SPDX-License-Identifier: Apache-2.0
#include "job/host_pass.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
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

TEST(HostPass, ThreadsThatWorkAtOnceHaveDifferentNumbers) {
  constexpr int threads = 4;
  std::barrier all_inside(threads);
  std::array<std::atomic<int>, threads> parts{};
  compute_on_host({0, threads}, 1, threads, [&](const HostTile& tile) {
    all_inside.arrive_and_wait();
    ++parts.at(static_cast<std::size_t>(tile.thread));
  });
  for (const auto& count : parts) EXPECT_EQ(count, 1);
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

/// Sets a flag when the thread that holds it in `at_exit` ends: all that the thread did is then done.
struct ExitFlag {
  std::atomic<bool>* ended = nullptr;
  ExitFlag() = default;
  ExitFlag(const ExitFlag&) = delete;
  ExitFlag& operator=(const ExitFlag&) = delete;
  ~ExitFlag() {
    if (ended == nullptr) return;
    *ended = true;
    ended->notify_all();
  }
};
thread_local ExitFlag at_exit;

/// What is thrown when three threads are in three parts at once and the two helpers fail, the one with the
/// earlier part first or second; and the unit that it should name.
std::pair<std::string, std::string> thrown_by_two_of_three(bool earlier_first) {
  constexpr int threads = 3;
  std::barrier all_inside(threads);
  std::array<std::int64_t, threads> unit_of{};
  std::array<std::atomic<bool>, threads> ended{};
  try {
    compute_on_host({0, threads}, 1, threads, [&](const HostTile& tile) {
      unit_of.at(static_cast<std::size_t>(tile.thread)) = tile.range.begin;
      all_inside.arrive_and_wait();
      const bool swapped = (unit_of[1] < unit_of[2]) != earlier_first;
      const std::size_t first = swapped ? 2 : 1;
      const std::size_t second = swapped ? 1 : 2;
      if (tile.thread == 0) {
        ended.at(second).wait(false);
        return;
      }
      const auto me = static_cast<std::size_t>(tile.thread);
      at_exit.ended = &ended.at(me);
      if (me == second) ended.at(first).wait(false);
      throw std::runtime_error("unit " + std::to_string(tile.range.begin));
    });
  } catch (const std::runtime_error& error) {
    return {error.what(), "unit " + std::to_string(std::min(unit_of[1], unit_of[2]))};
  }
  return {"nothing", "something"};
}

TEST(HostPass, TheExceptionOfTheEarlierPartWinsWhicheverComesFirst) {
  for (const bool earlier_first : {true, false}) {
    const auto [thrown, expected] = thrown_by_two_of_three(earlier_first);
    EXPECT_EQ(thrown, expected) << (earlier_first ? "it came first" : "it came second");
  }
}

TEST(HostPass, NoPartIsBegunAfterAFailure) {
  std::barrier both_inside(2);
  std::atomic<bool> ended = false;
  std::atomic<int> calls = 0;
  EXPECT_THROW(compute_on_host({0, 64}, 1, 2,
                               [&](const HostTile& tile) {
                                 if (++calls > 2) return;
                                 both_inside.arrive_and_wait();
                                 if (tile.thread == 0) return ended.wait(false);
                                 at_exit.ended = &ended;
                                 throw std::runtime_error("a part");
                               }),
               std::runtime_error);
  EXPECT_EQ(calls, 2);
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

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/// Computes 1000 units on 64 threads where there is room for the stacks of a few.
[[noreturn]] void compute_with_few_threads() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t most = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (rlim_t{100} << 20);
  const rlimit limit{most, most};
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(2);
  std::atomic<std::int64_t> units = 0;
  const bool all =
      compute_on_host({0, 1000}, 1, 64, [&](const HostTile& tile) { units += tile.range.size(); });
  std::_Exit(all && units == 1000 ? 0 : 1);
}

TEST(HostPass, MakesDoWithTheThreadsThatTheSystemGrants) {
  EXPECT_EXIT(compute_with_few_threads(), ::testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
}  // namespace tessera
