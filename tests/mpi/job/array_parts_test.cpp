// SPDX-License-Identifier: Apache-2.0
// Passes over arrays that exceed the memory budget stream them, and give the bits of resident arrays.
#include "mpi/job/array_testing.hpp"

#include <map>
#include <mutex>

namespace tessera::testing {
namespace {

constexpr std::int64_t tile_units = 500;
constexpr std::int64_t streamed_block = 10;
constexpr std::int64_t budget_bytes = 20'000;

/// The options of a job whose devices, T4s, may use this many bytes each.
JobOptions with_budget(int parts_in_flight, std::int64_t bytes = budget_bytes) {
  JobOptions options = with_threads(1);
  options.memory_fraction = static_cast<double>(bytes) / static_cast<double>(std::int64_t{16} << 30);
  options.parts_in_flight = parts_in_flight;
  return options;
}

/// Passes over arrays of numbers whose last element identifies the unit.
class Numbers {
 public:
  Numbers(Job& job, std::int64_t width) : width_(width), array(job, tiles_of(job), width), job_(job) {
    std::int64_t number = job_.local_range(array.plan()).begin * width;
    for (std::int64_t& value : array.overwrite()) value = number++;
  }

  /// Adds the number of each unit to its elements.
  void add_units() {
    job_.update(arrays(array.modify()), no_real_device,
                [this](const HostTile& tile, std::span<std::int64_t> values) { add_units(tile, values); });
    ++added_;
  }
  /// The same out of place, and only on hosts.
  template <class DeviceFn>
  void add_units_from_the_last(DeviceFn&& on_device) {
    job_.update(
        arrays(array.read(), array.write()), on_device,
        [this](const HostTile& tile, std::span<const std::int64_t> last, std::span<std::int64_t> next) {
          std::ranges::copy(last, next.begin());
          add_units(tile, next);
        });
    ++added_;
  }
  [[nodiscard]] double sum() {
    return job_
        .reduce(arrays(array.read()), 1, no_real_device,
                [](const HostTile&, std::span<double> partial, std::span<const std::int64_t> values) {
                  for (const std::int64_t value : values) partial[0] += static_cast<double>(value);
                })
        .front();
  }
  [[nodiscard]] double expected_sum() const {
    double sum = 0;
    for (std::int64_t i = 0; i < array.plan().units() * width_; ++i) sum += static_cast<double>(expected(i));
    return sum;
  }
  void expect_host_values() const {
    const Range mine = job_.local_range(array.plan());
    ASSERT_EQ(std::ssize(array.host()), mine.size() * width_);
    for (std::int64_t i = 0; i < mine.size() * width_; ++i)
      ASSERT_EQ(array.host()[static_cast<std::size_t>(i)], expected(mine.begin * width_ + i)) << i;
  }

 private:
  [[nodiscard]] static Plan tiles_of(const Job& job) {
    return job.plan(2 * tile_units * job.comm().size(), streamed_block);
  }
  [[nodiscard]] std::int64_t expected(std::int64_t i) const { return i + added_ * (i / width_); }
  void add_units(const HostTile& tile, std::span<std::int64_t> values) const {
    ASSERT_EQ(std::ssize(values), tile.range.size() * width_);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::int64_t unit = tile.range.begin + static_cast<std::int64_t>(i) / width_;
      ASSERT_EQ((values[i] - added_ * unit) / width_, unit) << "of another part";
      values[i] += unit;
    }
  }

  std::int64_t width_;
  int added_ = 0;

 public:
  Array<std::int64_t> array;

 private:
  Job& job_;
};

class ArrayParts : public ::testing::TestWithParam<int> {
 protected:
  void expect_devices() const {
    EXPECT_EQ(job_.last_verdict().ran, Verdict::Ran::devices) << job_.last_verdict();
  }

  ScopedVariable simulate_{"TESSERA_SIMULATE", "*:2xT4"};
  ScopedVariable fault_{"TESSERA_FAULT", std::nullopt};
  Job job_{world(), with_budget(GetParam())};
};

TEST_P(ArrayParts, APartHasItsUnitsAndNoMoreMemoryThanItsShare) {
  Numbers wide(job_, 8);
  ASSERT_EQ(job_.inventory().devices()[0].memory_budget_bytes, budget_bytes);
  std::mutex mutex;
  std::map<int, std::int64_t> parts;
  job_.update(arrays(wide.array.read()), no_real_device,
              [&](const HostTile& tile, std::span<const std::int64_t> values) {
                const std::lock_guard lock(mutex);
                ++parts[tile.thread % 2];
                EXPECT_EQ(tile.range.begin % streamed_block, 0);
                EXPECT_LE(std::ssize(values) * 8, budget_bytes / GetParam());
                EXPECT_EQ(values.front(), tile.range.begin * 8);
                EXPECT_EQ(values.back(), tile.range.end * 8 - 1);
              });
  expect_devices();
  EXPECT_EQ(parts.size(), 2U);
  for (const auto& [device, count] : parts) EXPECT_GE(count, 2) << device;
  EXPECT_EQ(wide.array.traffic().uploads, parts[0] + parts[1]);
  EXPECT_EQ(wide.array.traffic().uploaded_bytes, 2 * tile_units * 8 * 8);
  EXPECT_EQ(job_.buffers().pool_at(0).statistics().in_use_bytes, 0U) << "the next pass may need it";
}

TEST_P(ArrayParts, EveryPassMakesAVersionThatTheHostHas) {
  Numbers wide(job_, 8);
  for (int pass = 1; pass <= 3; ++pass) {
    wide.add_units();
    expect_devices();
    EXPECT_EQ(wide.array.version(), 1 + pass);
    EXPECT_EQ(wide.array.host_version(), 1 + pass);
    wide.expect_host_values();
    EXPECT_EQ(wide.sum(), wide.expected_sum());
  }
  EXPECT_EQ(wide.array.traffic().downloaded_bytes, 3 * 2 * tile_units * 8 * 8);
  job_.download(wide.array);
  EXPECT_EQ(wide.array.traffic().downloaded_bytes, 3 * 2 * tile_units * 8 * 8) << "nothing was left to copy";
}

TEST_P(ArrayParts, StreamedPassesResidentOnesAndThoseOnHostsTakeTurns) {
  Numbers narrow(job_, 2);  // out of place it takes 16 of 20 thousand bytes, and with the other one more
  Numbers wide(job_, 8);
  const auto both = [&] {
    job_.update(
        arrays(wide.array.read(), narrow.array.read()), no_real_device,
        [](const HostTile& tile, std::span<const std::int64_t> eight, std::span<const std::int64_t> two) {
          EXPECT_EQ(eight.front(), tile.range.begin * 8);
          EXPECT_EQ(std::ssize(two), tile.range.size() * 2);
        });
    expect_devices();
  };
  for (int round = 1; round <= 3; ++round) {
    narrow.add_units();
    narrow.add_units_from_the_last(no_real_device);
    expect_devices();
    EXPECT_LT(narrow.array.host_version(), narrow.array.version()) << "it stays on the devices";
    EXPECT_EQ(narrow.sum(), narrow.expected_sum());
    both();
    EXPECT_EQ(narrow.array.host_version(), narrow.array.version()) << "it made room";
    narrow.expect_host_values();
    EXPECT_EQ(narrow.array.traffic().downloads, 4 * round - 2) << "once a round for each reason";
    narrow.add_units();
    narrow.add_units_from_the_last(host_only);
    EXPECT_EQ(job_.last_verdict().ran, Verdict::Ran::host);
    EXPECT_EQ(narrow.sum(), narrow.expected_sum());
  }
  job_.download(narrow.array, wide.array);
  narrow.expect_host_values();
  wide.expect_host_values();
}

TEST_P(ArrayParts, WhatWasNotUsedForTheLongestTimeMakesRoom) {
  Numbers first(job_, 2);  // 8 of 20 thousand bytes each
  Numbers second(job_, 2);
  Numbers third(job_, 2);
  const auto uploads = [&] {
    return std::vector<std::int64_t>{first.array.traffic().uploads / 2, second.array.traffic().uploads / 2,
                                     third.array.traffic().uploads / 2};
  };
  const auto use = [&](Numbers& numbers) { EXPECT_EQ(numbers.sum(), numbers.expected_sum()); };
  use(first);
  use(second);
  use(first);
  EXPECT_EQ(uploads(), (std::vector<std::int64_t>{1, 1, 0}));
  use(third);
  use(first);
  EXPECT_EQ(uploads(), (std::vector<std::int64_t>{1, 1, 1})) << "the second made room";
  use(second);
  use(first);
  EXPECT_EQ(uploads(), (std::vector<std::int64_t>{1, 2, 1})) << "the third made room";
}

TEST_P(ArrayParts, AnArrayThatMakesRoomIsBroughtHome) {
  Numbers changed(job_, 2);
  Numbers other(job_, 2);
  changed.add_units();
  EXPECT_EQ(changed.array.host_version(), 1);
  EXPECT_EQ(other.sum(), other.expected_sum());
  EXPECT_EQ(changed.array.host_version(), 2);
  changed.expect_host_values();
  EXPECT_EQ(changed.sum(), changed.expected_sum());
}

TEST_P(ArrayParts, ABlockThatDoesNotFitIsRefused) {
  Numbers too_wide(job_, budget_bytes / 8 / streamed_block + 1);
  too_wide.add_units();
  EXPECT_EQ(job_.last_verdict().ran, Verdict::Ran::fallback);
  EXPECT_EQ(job_.last_verdict().failure.stage, "allocate");
  EXPECT_EQ(job_.last_verdict().failure.reason,
            "a block of 10 units with 2008 bytes per unit exceeds the device memory limit of 20000 bytes: "
            "use smaller blocks");
  too_wide.expect_host_values();
}

INSTANTIATE_TEST_SUITE_P(InFlight, ArrayParts, ::testing::Values(1, 2, 3),
                         [](const auto& test) { return std::to_string(test.param); });

class StreamedSolver : public ::testing::TestWithParam<int> {};

TEST_P(StreamedSolver, HasTheBitsOfOneWithResidentArrays) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:2xT4");
  Job job(world(), with_budget(GetParam(), 4000));  // a tile of the fewest units takes 5000
  Solver solver(job);
  for (int step = 1; step <= 10; ++step) {
    solver.step();
    EXPECT_EQ(solver.state.host_version(), solver.state.version());
    EXPECT_EQ(bits(solver.states()), bits(solver.expected(step))) << step;
    EXPECT_EQ(bits({solver.sum_of_states()}), bits({expected_sum_of_states(step)})) << step;
  }
  EXPECT_EQ(job.last_verdict().ran, Verdict::Ran::devices) << job.last_verdict();
  EXPECT_EQ(solver.matrix.traffic().uploaded_bytes,
            10 * job.local_range(solver.matrix.plan()).size() * matrix_width * 8);
}

INSTANTIATE_TEST_SUITE_P(InFlight, StreamedSolver, ::testing::Values(1, 2, 3),
                         [](const auto& test) { return std::to_string(test.param); });

}  // namespace
}  // namespace tessera::testing
