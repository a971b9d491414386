// SPDX-License-Identifier: Apache-2.0
#include "mpi/job/job_testing.hpp"
#include "support/errors.hpp"
#include "unit/job/no_new_threads.hpp"

#include <tessera/error.hpp>
#include <tessera/job/array.hpp>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <limits>
#include <new>
#include <numeric>
#include <stdexcept>
#include <thread>

namespace tessera::testing {
namespace {

/// While it exists, allocations of a megabyte fail.
std::atomic<bool> memory_is_short = false;

// NOLINTBEGIN(cppcoreguidelines-no-malloc): operator new itself is replaced
void* allocate(std::size_t bytes) noexcept {
  return memory_is_short && bytes >= std::size_t{1} << 20 ? nullptr : std::malloc(bytes);
}

}  // namespace
}  // namespace tessera::testing

// Not inlined, so that the compiler does not see malloc() matched with another operator delete.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* memory = tessera::testing::allocate(bytes);
  return memory != nullptr ? memory : throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return tessera::testing::allocate(bytes);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
// NOLINTEND(cppcoreguidelines-no-malloc)

namespace tessera::testing {
namespace {

/// The error with which a rank's pass ended.
struct Ending {
  std::optional<ErrorCode> code;  ///< of a tessera::Error
  std::string message;
};

template <class Call>
Ending ending_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  } catch (const std::exception& error) {
    return {std::nullopt, error.what()};
  }
  return {std::nullopt, "no exception"};
}

/// The host function of one rank throws; devices are simulated in half of the tests.
class Misuse : public ::testing::TestWithParam<const char*> {
 protected:
  Misuse()
      : simulate_("TESSERA_SIMULATE", GetParam()), fault_("TESSERA_FAULT", std::nullopt), job_(world()) {}

  [[nodiscard]] int last() const { return job_.comm().size() - 1; }
  [[nodiscard]] bool on_last() const { return job_.comm().rank() == last(); }

  /// Fails unless the last rank's error is `thrown` and the others' is an Error(job_fault) naming it.
  void expect_told(const Ending& ending, const Ending& thrown) {
    if (on_last()) {
      EXPECT_EQ(ending.code, thrown.code);
      EXPECT_EQ(ending.message, thrown.message);
    } else {
      EXPECT_EQ(ending.code, ErrorCode::job_fault);
      const std::string begin = "rank " + std::to_string(last()) + " (";
      EXPECT_TRUE(ending.message.starts_with(begin)) << ending.message;
      EXPECT_TRUE(ending.message.ends_with(": " + thrown.message)) << ending.message;
    }
  }

  /// Expects that the job can still be used.
  void expect_usable() {
    const Plan plan = job_.plan(100, 10);
    EXPECT_EQ(bits(reduce_units(job_, plan)), bits(expected_sums(100, 10)));
  }

  ScopedVariable simulate_;
  ScopedVariable fault_;
  Job job_;
};

TEST_P(Misuse, AnExceptionOfTheHostFunctionReachesItsRankAndTheOthersAreTold) {
  const Plan plan = job_.plan(300, 10);
  const auto ending = ending_of([&] {
    (void)job_.reduce(plan, 1, no_real_device, [&](const HostTile&, std::span<double>) {
      if (on_last()) throw std::domain_error("the log of a negative unit");
    });
  });
  expect_told(ending, {std::nullopt, "the log of a negative unit"});
  expect_usable();
}

TEST_P(Misuse, ACallWithinAFunctionEndsThePassThoughTheFunctionCatchesItsError) {
  const Plan plan = job_.plan(300, 10);
  Array<double> array(job_, plan);
  const std::vector<std::function<void()>> calls = {
      [&] { job_.download(array); }, [&] { (void)array.overwrite(); }, [&] { job_.comm().barrier(); },
      [&] { (void)Job(job_.comm()); }};
  for (const auto& call : calls) {
    const auto ending = ending_of([&] {
      (void)job_.reduce(plan, 1, no_real_device, [&](const HostTile&, std::span<double>) {
        if (!on_last()) return;
        EXPECT_EQ(ending_of(call).code, ErrorCode::usage);
      });
    });
    EXPECT_EQ(ending.code, ErrorCode::usage) << ending.message;
    EXPECT_NE(ending.message.find("between passes"), std::string::npos) << ending.message;
    EXPECT_EQ(array.version(), 0);
    expect_usable();
  }
}

TEST_P(Misuse, ARankWithoutMemoryForTheSumDoesNotLetTheOthersWait) {
  if (job_.comm().size() == 1) GTEST_SKIP() << "needs another rank";
  constexpr std::size_t width = 1 << 16;  // 2 MiB for its sum
  const auto ending = ending_of([&] {
    (void)job_.reduce(job_.plan(2 * job_.comm().size()), width, no_real_device,
                      [&](const HostTile&, std::span<double>) { memory_is_short = on_last(); });
  });
  memory_is_short = false;
  expect_told(ending, {ErrorCode::job_fault, "host memory is too small for sums of " + std::to_string(width) +
                                                 " numbers: use fewer threads or numbers"});
  expect_usable();
}

TEST_P(Misuse, ASumOfMoreNumbersThanMemoryHoldsIsRefused) {
  for (const std::size_t width : {std::size_t{1} << 60, std::numeric_limits<std::size_t>::max()}) {
    const auto ending = ending_of([&] {
      (void)job_.reduce(job_.plan(100), width, no_real_device, [](const HostTile&, std::span<double>) {});
    });
    EXPECT_EQ(ending.code, ErrorCode::usage) << ending.message;
    EXPECT_NE(ending.message.find("needs more memory than can be addressed"), std::string::npos)
        << ending.message;
  }
  expect_usable();
}

TEST_P(Misuse, ARankToWhichTheSystemGrantsNoThreadFailsAndTheOthersAreTold) {
  std::optional<NoNewThreads> none;
  if (on_last()) none.emplace();
  const auto caller = std::this_thread::get_id();
  const auto ending = ending_of([&] {
    (void)job_.reduce(job_.plan(300, 10), 1, no_real_device, [&](const HostTile&, std::span<double>) {
      EXPECT_NE(std::this_thread::get_id(), caller);
    });
  });
  EXPECT_EQ(ending.code, ErrorCode::job_fault);
  EXPECT_TRUE(contains(ending.message, "the system cannot start a thread ("));
  if (!on_last()) {
    EXPECT_TRUE(ending.message.starts_with("rank " + std::to_string(last()) + " (")) << ending.message;
  }
  if (on_last()) {
    EXPECT_THROW(job_.run_alive([] {}), Error);
  }
  none.reset();
  expect_usable();
}

/// An exception with the given text, possibly null.
class WithText : public std::exception {
 public:
  explicit WithText(const char* text) : text_(text) {}
  [[nodiscard]] const char* what() const noexcept override { return text_; }

 private:
  const char* text_;
};

TEST_P(Misuse, AnExceptionThatCannotBeReportedIsAFailureLikeAnyOther) {
  const std::string longest(std::size_t{1} << 21, 'x');
  const std::pair<const char*, const char*> texts[] = {{nullptr, "an exception without a text"},
                                                       {longest.c_str(), "out of memory"}};
  for (const auto& [text, reported] : texts) {
    std::string ending = "no exception";
    try {
      (void)job_.reduce(job_.plan(300, 10), 1, no_real_device,
                        [&, &text = text](const HostTile&, std::span<double>) {
                          if (!on_last()) return;
                          memory_is_short = true;
                          throw WithText(text);
                        });
    } catch (const WithText& own) {
      EXPECT_TRUE(on_last());
      EXPECT_EQ(own.what(), text);
      ending = reported;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::job_fault);
      ending = error.what();
    }
    memory_is_short = false;
    EXPECT_TRUE(ending.ends_with(reported)) << ending;
    EXPECT_TRUE(to_string(job_.last_verdict()).ends_with(reported)) << job_.last_verdict();
    expect_usable();
  }
}

TEST_P(Misuse, UnitsThatAreNotTheRanksPartAreRefused) {
  const Plan plan = job_.plan(300);
  auto units = local_units(job_, plan);
  const auto right = units.size();
  if (on_last()) units.push_back(1.0);
  const auto before = units;
  const auto ending = ending_of([&] {
    job_.scatter(plan, std::span(units), no_real_device,
                 [](const HostTile&, std::span<double> part) { std::ranges::fill(part, 0.0); });
  });
  const std::string message = "rank " + std::to_string(last()) + " gives " + std::to_string(right + 1) +
                              " units, but has " + std::to_string(right) +
                              " in the plan: give the units of local_range(plan)";
  if (on_last()) {
    expect_told(ending, {ErrorCode::usage, message});
    EXPECT_EQ(units, before);
  } else {
    EXPECT_EQ(ending.code, ErrorCode::job_fault);
    EXPECT_NE(ending.message.find("rank " + std::to_string(last()) + " gives "), std::string::npos);
    // Values that devices wrote before the vote are undone; on the host there is no copy to restore.
    if (!job_.on_host()) {
      EXPECT_EQ(units, before);
    }
  }
  expect_usable();
}

TEST_P(Misuse, DifferentPlansAreRefusedOnEveryRank) {
  if (job_.comm().size() == 1) GTEST_SKIP() << "one rank cannot disagree";
  const Plan plan = job_.plan(on_last() ? 200 : 300);
  auto units = local_units(job_, plan);
  const auto before = units;
  const auto ending = ending_of([&] {
    job_.scatter(plan, std::span(units), no_real_device,
                 [](const HostTile&, std::span<double> part) { std::ranges::fill(part, 0.0); });
  });
  if (!job_.on_host()) {
    EXPECT_EQ(units, before);
  }
  EXPECT_EQ(ending.code, ErrorCode::usage);
  EXPECT_TRUE(ending.message.starts_with("the ranks make different calls in pass 1")) << ending.message;
  expect_usable();
}

TEST_P(Misuse, PlansThatAreCutElsewhereAreRefusedOnEveryRank) {
  const int size = job_.comm().size();
  if (size == 1) GTEST_SKIP() << "one rank cannot disagree";
  // A device each, and the last rank takes its own for faster than the others do: each brings the units of
  // its own plan, with equally many tiles, so that no rank can detect the difference by itself.
  std::vector<std::uint64_t> scores(static_cast<std::size_t>(size), 100);
  if (on_last()) scores.back() = 150;
  std::vector<std::int64_t> offsets(scores.size() + 1);
  std::iota(offsets.begin(), offsets.end(), 0);
  const auto ending = ending_of([&] { (void)reduce_units(job_, Plan::over_devices(1000, scores, offsets)); });
  EXPECT_EQ(ending.code, ErrorCode::usage);
  EXPECT_TRUE(ending.message.starts_with("the ranks make different calls in pass 1")) << ending.message;
  expect_usable();
}

TEST_P(Misuse, DifferentWidthsAreRefusedOnEveryRank) {
  if (job_.comm().size() == 1) GTEST_SKIP() << "one rank cannot disagree";
  const auto ending = ending_of([&] {
    (void)job_.reduce(job_.plan(300), on_last() ? 2 : 1, no_real_device,
                      [](const HostTile&, std::span<double>) {});
  });
  EXPECT_EQ(ending.code, ErrorCode::usage);
  expect_usable();
}

TEST_P(Misuse, APlanForAnotherJobIsRefused) {
  const int ranks = job_.comm().size() + 1;
  const Plan plan = Plan::over_hosts(300, ranks);
  const auto ending = ending_of([&] { (void)map_units(job_, plan); });
  EXPECT_EQ(ending.code, ErrorCode::usage);
  EXPECT_TRUE(ending.message.starts_with("the plan is for " + std::to_string(ranks) + " ranks"))
      << ending.message;
  expect_usable();
}

TEST_P(Misuse, APlanForDevicesThatAreNotThereIsRefused) {
  if (job_.on_host()) GTEST_SKIP() << "a job on the host does not look at tiles";
  const int size = job_.comm().size();
  std::vector<std::uint64_t> scores(static_cast<std::size_t>(3 * size), 1);
  std::vector<std::int64_t> offsets;
  for (int rank = 0; rank <= size; ++rank) offsets.push_back(3 * rank);
  const Plan plan = Plan::over_devices(300, scores, offsets);
  const auto ending = ending_of([&] { (void)map_units(job_, plan); });
  EXPECT_EQ(ending.code, ErrorCode::usage);
  EXPECT_TRUE(ending.message.starts_with("the plan has a tile for device 2 of rank ")) << ending.message;
  expect_usable();
}

TEST_P(Misuse, ANegativeSizeOfAUnitIsRefused) {
  const auto ending = ending_of([&] { (void)map_units(job_, job_.plan(300), -8); });
  EXPECT_EQ(ending.code, ErrorCode::usage);
  expect_usable();
}

INSTANTIATE_TEST_SUITE_P(Jobs, Misuse, ::testing::Values("rank9999:T4", "*:2xT4"),
                         [](const auto& test) { return test.index == 0 ? "hosts" : "devices"; });

TEST(JobOptionsMisuse, IsRefusedOnEveryRank) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:T4");
  const auto comm = world();
  JobOptions negative_threads;
  negative_threads.threads = -1;
  JobOptions negative_timeout;
  negative_timeout.collective_timeout = std::chrono::milliseconds(-1);
  JobOptions nothing_to_measure;
  nothing_to_measure.score_model = ScoreModel::measured;
  for (const auto& options : {negative_threads, negative_timeout, nothing_to_measure})
    EXPECT_EQ(ending_of([&] { const Job job(comm, options); }).code, ErrorCode::usage);
}

TEST(JobOptionsMisuse, OptionsThatDifferAreRefusedOnEveryRank) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:T4");
  const auto comm = world();
  if (comm.size() == 1) GTEST_SKIP() << "one rank cannot disagree";
  JobOptions options;
  if (comm.rank() == 0) options.policy = Policy::cpu;
  const auto ending = ending_of([&] { const Job job(comm, options); });
  EXPECT_EQ(ending.code, ErrorCode::usage);
  EXPECT_TRUE(ending.message.starts_with("the ranks have different job options")) << ending.message;
}

TEST(JobEnvironment, AnUnreadableSimulationOfOneRankEndsAll) {
  const auto comm = world();
  const bool last = comm.rank() == comm.size() - 1;
  const ScopedVariable simulate("TESSERA_SIMULATE", last ? "*:Abacus" : "*:T4");
  const auto ending = ending_of([&] { const Job job(comm); });
  EXPECT_EQ(ending.code, last ? ErrorCode::usage : ErrorCode::job_fault);
  EXPECT_NE(ending.message.find("TESSERA_SIMULATE"), std::string::npos) << ending.message;
}

TEST(JobMisuse, AnArrayWithoutMemoryIsAnError) {
  Job job(world());
  const Plan plan = job.plan_for_hosts(std::int64_t{1} << 20);
  memory_is_short = true;
  const Ending ending = ending_of([&] { const Array<double> array(job, plan); });
  memory_is_short = false;
  EXPECT_EQ(ending.code, ErrorCode::job_fault);
  EXPECT_TRUE(contains(ending.message, "host memory is too small for this rank's part of an array"));
}

}  // namespace
}  // namespace tessera::testing
