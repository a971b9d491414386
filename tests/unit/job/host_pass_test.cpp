// SPDX-License-Identifier: Apache-2.0
#include "job/tile/host_pass.hpp"
#include "job/consensus/attempt.hpp"
#include "job/threads/earliest_failure.hpp"
#include "support/errors.hpp"
#include "unit/job/no_new_threads.hpp"

#include <tessera/error.hpp>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace tessera {
namespace {

/// Runs the pass on separate threads.
bool compute(Range range, std::int64_t block, int threads, const std::function<void(const HostTile&)>& work) {
  HostTeam team(threads, [] {});
  return compute_on_host(range, block, team, work);
}

/// Every part, in order of its first unit.
std::vector<Range> parts_of(Range range, std::int64_t block, int threads) {
  std::vector<Range> parts;
  std::mutex guard;
  compute(range, block, threads, [&](const HostTile& tile) {
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

TEST(HostTeam, GivesOutEveryBlockOnce) {
  for (const int threads : {1, 4}) {
    HostTeam team(threads);
    EXPECT_EQ(team.size(), threads);
    for (const Range range : {Range{5, 5}, Range{5, 6}, Range{5, 105}}) {
      std::vector<std::atomic<int>> times(105);
      EXPECT_TRUE(team.for_each_block(range, 7, [&](int thread, Range block) {
        EXPECT_TRUE(thread >= 0 && thread < threads);
        EXPECT_EQ((block.begin - range.begin) % 7, 0);
        EXPECT_TRUE(block.size() == 7 || block.end == range.end);
        for (std::int64_t unit = block.begin; unit < block.end; ++unit)
          ++times[static_cast<std::size_t>(unit)];
      }));
      for (std::int64_t unit = 0; unit < 105; ++unit)
        EXPECT_EQ(times[static_cast<std::size_t>(unit)], unit >= range.begin && unit < range.end ? 1 : 0);
    }
  }
}

TEST(HostTeam, OfOneThreadThatNobodyNeedsIsTheCaller) {
  std::thread::id where;
  HostTeam(1).for_each_block({0, 1}, 1, [&](int, Range) { where = std::this_thread::get_id(); });
  EXPECT_EQ(where, std::this_thread::get_id());
  HostTeam(1, [] {}).for_each_block({0, 1}, 1, [&](int, Range) { where = std::this_thread::get_id(); });
  EXPECT_NE(where, std::this_thread::get_id());
}

#if !defined(__SANITIZE_THREAD__)  // which delivers a signal when the thread has been woken
std::array<int, 2> told;   ///< the ends of a pipe: a byte from the handler as it begins and as it ends
std::array<int, 2> evict;  ///< a byte for each handler that may end

/// Blocks a thread in a signal handler, as if the kernel did not schedule it.
class Unscheduled {
 public:
  explicit Unscheduled(pthread_t thread) {
    EXPECT_EQ(pthread_kill(thread, SIGUSR2), 0);
    wait_for_handler();
  }
  ~Unscheduled() {
    EXPECT_EQ(write(evict[1], "", 1), 1);
    wait_for_handler();  // another that is held must not take the byte
  }
  Unscheduled(const Unscheduled&) = delete;
  Unscheduled& operator=(const Unscheduled&) = delete;

  static void prepare() {
    ASSERT_EQ(pipe(told.data()), 0);
    ASSERT_EQ(pipe(evict.data()), 0);
    struct sigaction hold {};
    hold.sa_flags = SA_RESTART;
    hold.sa_handler = [](int) {
      char byte = 0;
      if (write(told[1], &byte, 1) != 1 || read(evict[0], &byte, 1) != 1 || write(told[1], &byte, 1) != 1)
        std::abort();
    };
    ASSERT_EQ(sigaction(SIGUSR2, &hold, nullptr), 0);
  }

 private:
  static void wait_for_handler() {
    char byte = 0;
    EXPECT_EQ(read(told[0], &byte, 1), 1);
  }
};

/// The threads of a team, by number. Unblocks SIGUSR2, which threads in another program's process block.
std::vector<pthread_t> threads_of(HostTeam& team) {
  sigset_t held;
  sigemptyset(&held);
  sigaddset(&held, SIGUSR2);
  std::vector<pthread_t> threads(static_cast<std::size_t>(team.size()));
  std::barrier all_inside(team.size());
  team.for_each_block({0, team.size()}, 1, [&](int thread, Range) {
    all_inside.arrive_and_wait();
    pthread_sigmask(SIG_UNBLOCK, &held, nullptr);
    threads[static_cast<std::size_t>(thread)] = pthread_self();
  });
  return threads;
}

TEST(HostTeam, WaitsForNoThreadThatIsNotScheduled) {
  Unscheduled::prepare();
  const auto expect_all_done = [](HostTeam& team, const std::set<int>& missing) {
    for (int repetition = 0; repetition < 50; ++repetition) {
      std::atomic<int> units = 0;
      EXPECT_TRUE(team.for_each_block({0, 100}, 1, [&](int thread, Range) {
        EXPECT_FALSE(missing.contains(thread));
        ++units;
      }));
      EXPECT_EQ(units, 100);
    }
  };
  HostTeam beside(2, [] {});
  const std::vector<pthread_t> two = threads_of(beside);
  for (const int missing : {0, 1}) {
    const Unscheduled one(two[static_cast<std::size_t>(missing)]);
    expect_all_done(beside, {missing});
  }
  HostTeam with_caller(4);
  const std::vector<pthread_t> four = threads_of(with_caller);
  ASSERT_EQ(four[0], pthread_self());
  {
    const Unscheduled one(four[1]);
    const Unscheduled another(four[2]);
    const Unscheduled third(four[3]);
    expect_all_done(with_caller, {1, 2, 3});
  }
  EXPECT_EQ(threads_of(with_caller), four) << "which come back";
}
#endif

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
  compute({0, threads}, 1, threads, [&](const HostTile& tile) {
    all_inside.arrive_and_wait();
    ++parts.at(static_cast<std::size_t>(tile.thread));
  });
  for (const auto& count : parts) EXPECT_EQ(count, 1);
}

TEST(HostPass, NoThreadWorksOnTwoPartsAtOnce) {
  constexpr int threads = 4;
  std::vector<std::atomic<int>> inside(threads);
  std::atomic<int> overlaps = 0;
  compute({0, 10'000}, 1, threads, [&](const HostTile& tile) {
    if (inside[static_cast<std::size_t>(tile.thread)]++ != 0) ++overlaps;
    --inside[static_cast<std::size_t>(tile.thread)];
  });
  EXPECT_EQ(overlaps, 0);
}

TEST(HostPass, OfManyFailuresTheEarliestPartsIsKept) {
  EarliestFailure failure;
  EXPECT_FALSE(failure.any());
  EXPECT_NO_THROW(failure.rethrow());
  for (const int part : {7, 9, 3, 5}) {
    failure.add(part, std::make_exception_ptr(std::runtime_error("part " + std::to_string(part))));
    EXPECT_TRUE(failure.any());
  }
  try {
    failure.rethrow();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "part 3");
  }
}

/// Reports the destruction of its last copy.
struct Told {
  std::shared_ptr<void> last;
};

TEST(HostPass, NoPartIsBegunAfterAFailure) {
  constexpr int threads = 3;
  std::barrier all_inside(threads);
  std::atomic<bool> one_was_dropped = false;
  std::atomic<int> calls = 0;
  // One of two exceptions is dropped after both were recorded; then the third thread looks for a part.
  const auto work = [&](const HostTile& tile) {
    if (++calls > threads) return;
    all_inside.arrive_and_wait();
    if (tile.thread == 0) return one_was_dropped.wait(false);
    throw Told{std::shared_ptr<void>(nullptr, [&](void*) {
      one_was_dropped = true;
      one_was_dropped.notify_all();
    })};
  };
  EXPECT_THROW(compute({0, 96}, 1, threads, work), Told);
  EXPECT_EQ(calls, threads);
}

TEST(HostPass, APartThatEndsItsThreadIsMisuse) {
  for (const int threads : {1, 3}) {
    HostTeam team(threads, [] {});
    const auto pass = [&](std::int64_t last) {
      return compute_on_host({0, 100}, 1, team, [&](const HostTile& tile) {
        if (tile.range.end > last) pthread_exit(nullptr);
      });
    };
    EXPECT_THROW(pass(50), Misuse);
    EXPECT_TRUE(pass(100)) << "and there are threads for the next";
  }
}

TEST(HostPass, TheEarliestExceptionIsTheOneForAnyNumberOfThreads) {
  for (const int threads : {1, 2, 4}) {
    for (int repetition = 0; repetition < 20; ++repetition) {
      try {
        compute({0, 128}, 1, threads, [](const HostTile& tile) {
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

TEST(HostTeam, MakesDoWithTheCallerWhereTheSystemGrantsNoThread) {
  HostTeam team(3);
  std::set<std::thread::id> where;
  const testing::NoNewThreads none;
  EXPECT_TRUE(team.for_each_block({0, 9}, 1, [&](int thread, Range) {
    EXPECT_EQ(thread, 0);
    where.insert(std::this_thread::get_id());
  }));
  EXPECT_EQ(where, std::set{std::this_thread::get_id()});
}

TEST(HostPass, RefusesWhereTheSystemGrantsNoThread) {
  HostTeam team(2, [] {});
  int calls = 0;
  const auto pass = [&] { return compute_on_host({0, 4}, 4, team, [&](const HostTile&) { ++calls; }); };
  {
    const testing::NoNewThreads none;
    const std::string said = error_of(ErrorCode::job_fault, pass);
    EXPECT_TRUE(said.starts_with("the system cannot start a thread (")) << said;
  }
  EXPECT_EQ(calls, 0);
  EXPECT_TRUE(pass());
  const testing::NoNewThreads none;
  EXPECT_TRUE(pass()) << "those that there are stay";
  EXPECT_EQ(calls, 2);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/// Computes 1000 units on 64 threads, with memory for the stacks of a few.
[[noreturn]] void compute_with_few_threads() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t most = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (rlim_t{100} << 20);
  const rlimit limit{most, most};
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(2);
  std::atomic<std::int64_t> units = 0;
  const bool all = compute({0, 1000}, 1, 64, [&](const HostTile& tile) { units += tile.range.size(); });
  std::_Exit(all && units == 1000 ? 0 : 1);
}

TEST(HostPass, MakesDoWithTheThreadsThatTheSystemGrants) {
  EXPECT_EXIT(compute_with_few_threads(), ::testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
}  // namespace tessera
