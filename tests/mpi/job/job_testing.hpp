// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mpi/job/scoped_variable.hpp"
#include "support/errors.hpp"

#include <tessera/error.hpp>
#include <tessera/job/job.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// Common parts of the tests of jobs: the environment of a job, and three passes whose results every rank can
/// compute.
namespace tessera::testing {

#if TESSERA_HAVE_MPI
inline mpi::Communicator world() {
  return mpi::Communicator::duplicate_of(MPI_COMM_WORLD);
}

/// A test with a communicator of its own.
class OverRanks : public ::testing::Test {
 protected:
  const mpi::Communicator comm = world();
};
#endif

inline JobOptions with_threads(int threads) {
  JobOptions options;
  options.threads = threads;
  return options;
}

/// The message of the Error(usage) that `call` throws.
inline std::string misuse_of(const std::function<void()>& call) {
  return error_of(ErrorCode::usage, call);
}

/// Fails unless `text` is the same on every rank. *Collective.*
inline void expect_same_on_all_ranks(const mpi::Communicator& comm, const std::string& text) {
  for (const std::string& other : comm.allgather_text(text)) EXPECT_EQ(other, text);
}

/// The message of every rank's error, "no error" if there is none; fails if they differ. *Collective.*
inline std::string on_all_ranks(const mpi::Communicator& comm, const std::optional<std::string>& said) {
  const std::string text = said.value_or("no error");
  expect_same_on_all_ranks(comm, text);
  return text;
}

// The units of the tests are doubles of very different sizes, so that sums depend on the order if they can.
inline double unit_value(std::int64_t unit) {
  const auto u = static_cast<double>(unit);
  return std::sin(u * 0.7 + 0.1) * std::ldexp(1.0, static_cast<int>(unit % 61) - 30);
}
inline double unit_result(double value) {
  return value * value - 3.0 * value;
}

/// Gives all remaining devices equal parts, whatever their scores: measured scores vary between runs, and on
/// a loaded machine a device may get no unit.
inline Plan even_plan(const Job& job, std::int64_t units, std::int64_t block = 1) {
  std::vector<std::int64_t> offsets{0};
  for (int rank = 0; rank < job.comm().size(); ++rank)
    offsets.push_back(offsets.back() + std::ssize(job.inventory().devices_of(rank)));
  std::vector<std::uint64_t> scores;
  for (const InventoryDevice& device : job.inventory().devices()) scores.push_back(device.excluded ? 0 : 1);
  return Plan::over_devices(units, scores, offsets, {.block = block});
}

inline std::vector<double> local_units(const Job& job, const Plan& plan) {
  std::vector<double> units;
  const Range mine = job.local_range(plan);
  for (std::int64_t unit = mine.begin; unit < mine.end; ++unit) units.push_back(unit_value(unit));
  return units;
}

/// The device function of passes whose devices are simulated.
constexpr auto no_real_device = [](Tile& tile, auto&&... /*spans*/) {
  tile.fail("the test has no function for real devices");
};

inline std::vector<double> map_units(Job& job, const Plan& plan, std::int64_t bytes_per_unit = 0) {
  const auto units = local_units(job, plan);
  return job.map<double>(
      plan, std::span<const double>(units), no_real_device,
      [](const HostTile&, std::span<const double> in, std::span<double> out) {
        std::ranges::transform(in, out.begin(), unit_result);
      },
      bytes_per_unit);
}

/// The expected result of `map_units`, bit by bit.
inline std::vector<double> expected_map(const Job& job, const Plan& plan) {
  auto units = local_units(job, plan);
  std::ranges::transform(units, units.begin(), unit_result);
  return units;
}

constexpr std::size_t sum_width = 3;

inline void add_block(Range block, std::span<double> partial) {
  for (std::int64_t unit = block.begin; unit < block.end; ++unit) {
    const double value = unit_value(unit);
    partial[0] += value;
    partial[1] += value * value;
    partial[2] += unit_result(value);
  }
}

inline std::vector<double> reduce_units(Job& job, const Plan& plan, std::int64_t bytes_per_unit = 0) {
  return job.reduce(
      plan, sum_width, no_real_device,
      [](const HostTile& tile, std::span<double> partial) { add_block(tile.range, partial); },
      bytes_per_unit);
}

/// The expected result of `reduce_units`, bit by bit, on any hardware.
inline std::vector<double> expected_sums(std::int64_t units, std::int64_t block) {
  ReproducibleSum sum(sum_width);
  for (std::int64_t begin = 0; begin < units; begin += block) {
    std::vector<double> partial(sum_width, 0.0);
    add_block({begin, std::min(units, begin + block)}, partial);
    sum.add(partial);
  }
  return sum.values();
}

/// Text with every bit, for readable comparisons.
inline std::vector<std::uint64_t> bits(const std::vector<double>& values) {
  std::vector<std::uint64_t> out;
  for (const double value : values) out.push_back(std::bit_cast<std::uint64_t>(value));
  return out;
}

}  // namespace tessera::testing
