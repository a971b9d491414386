// SPDX-License-Identifier: Apache-2.0
#include "gam/data/frame/distinct.hpp"
#include "support/table_support.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

/// This rank's part of a frame with one variable that every rank knows whole.
Frame part_of(const mpi::Communicator& comm, const std::vector<double>& values,
              const std::vector<std::uint8_t>& complete, std::uint64_t seed) {
  Frame frame;
  frame.file_rows = std::ssize(values);
  frame.rows = uneven_share(comm, frame.file_rows, seed);
  Variable variable;
  variable.name = "x";
  variable.numbers.own().assign(values.begin() + frame.rows.begin, values.begin() + frame.rows.end);
  frame.complete.own().assign(complete.begin() + frame.rows.begin, complete.begin() + frame.rows.end);
  frame.complete_rows = std::count(complete.begin(), complete.end(), std::uint8_t{1});
  frame.variables.push_back(variable);
  return frame;
}

std::vector<double> distinct_of(const std::vector<double>& values, const std::vector<std::uint8_t>& complete,
                                const std::vector<double>& extra) {
  std::vector<double> kept = extra;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (complete[i] != 0) kept.push_back(values[i]);
  }
  std::sort(kept.begin(), kept.end());
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  return kept;
}

/// R's quantile(x, seq(0, 1, length = count), type = 7), line by line.
std::vector<double> quantiles_of(const std::vector<double>& sorted, int count) {
  std::vector<double> result;
  for (int i = 0; i < count; ++i) {
    const double p = count == 1 ? 0 : i == count - 1 ? 1 : i * (1.0 / (count - 1));
    const double index = 1 + static_cast<double>(sorted.size() - 1) * p;
    const auto lo = static_cast<std::size_t>(std::floor(index));
    const auto hi = static_cast<std::size_t>(std::ceil(index));
    double q = sorted[lo - 1];
    const double h = index - std::floor(index);
    if (h > 0 && sorted[hi - 1] != q) q = (1 - h) * q + h * sorted[hi - 1];
    result.push_back(q);
  }
  return result;
}

using DistinctValues = OverRanks;

TEST_F(DistinctValues, AgreesWithASortOfTheWholeColumn) {
  // Different columns for each number of ranks; fewer if its collective calls are slow.
  std::mt19937_64 random(static_cast<std::uint64_t>(10 + comm.size()));
  for (int trial = 0; trial < 3 + 24 / comm.size(); ++trial) {
    const auto rows = 1 + random() % 400;
    std::vector<double> values;
    std::vector<std::uint8_t> complete;
    for (std::uint64_t i = 0; i < rows; ++i) {
      const double magnitude =
          std::ldexp(static_cast<double>(random() % 1000), static_cast<int>(random() % 600) - 300);
      values.push_back(trial % 2 == 0      ? static_cast<double>(random() % 50) - 25
                       : random() % 2 == 0 ? magnitude
                                           : -magnitude);
      complete.push_back(random() % 8 == 0 && i > 0 ? 0 : 1);
      if (complete.back() == 0) values.back() = std::numeric_limits<double>::quiet_NaN();
    }
    if (rows > 3) values[1] = -0.0, values[2] = 0.0, complete[1] = complete[2] = 1;
    const std::vector<double> extra =
        trial % 3 == 0 ? std::vector<double>{-1e9, 1e9, 7} : std::vector<double>{};
    const Frame frame = part_of(comm, values, complete, static_cast<std::uint64_t>(trial));

    HostTeam team(trial % 4 + 1);
    const std::vector<double> own = distinct_of(values, complete, {});
    for (const std::int64_t enough :
         {std::int64_t{2}, std::int64_t{20}, std::ssize(own), std::int64_t{1000}}) {
      const Distinct found = distinct_values({comm, team}, frame, 0, enough);
      EXPECT_EQ(found.count, std::min(std::ssize(own), enough));
      EXPECT_EQ(found.min, own.front());
      EXPECT_EQ(found.max, own.back());
    }

    const std::vector<double> with_extra = distinct_of(values, complete, extra);
    for (const int count : {1, 2, 3, 10, 57}) {
      std::optional<std::int64_t> at_once;
      if (count > 2) at_once = 1 + static_cast<std::int64_t>(random() % 100);
      const std::vector<double> quantiles = distinct_quantiles({comm, team}, frame, 0, count, extra, at_once);
      const std::vector<double> expected = quantiles_of(with_extra, count);
      ASSERT_EQ(quantiles.size(), expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_EQ(std::bit_cast<std::uint64_t>(quantiles[i]), std::bit_cast<std::uint64_t>(expected[i] + 0.0))
            << "trial " << trial << ", quantile " << i << " of " << count;
    }
  }
}

TEST_F(DistinctValues, GivesTheKnotsThatRGives) {
  // R 4.2.2: quantile(c(1, 2, 4, 8, 16, 31.5), seq(0, 1, length = 5)), for repeated values.
  HostTeam team(2);
  const std::vector<double> values{16, 1, 2, 2, 4, 8, 31.5, 1, 1};
  const Frame frame = part_of(comm, values, std::vector<std::uint8_t>(values.size(), 1), 2);
  EXPECT_EQ(distinct_quantiles({comm, team}, frame, 0, 5, {}), (std::vector<double>{1, 2.5, 6, 14, 31.5}));
}

/// More rows than a thread takes at a time.
TEST_F(DistinctValues, CountsTheSameOnAnyThreads) {
  std::vector<double> values(200'000);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t run = i / 20'000;
    values[i] = static_cast<double>(run);
  }
  const Frame frame = part_of(comm, values, std::vector<std::uint8_t>(values.size(), 1), 3);
  for (const int threads : {1, 2, 5}) {
    HostTeam team(threads);
    EXPECT_EQ(distinct_values({comm, team}, frame, 0, 100).count, 10);
    EXPECT_EQ(distinct_values({comm, team}, frame, 0, 7).count, 7);
    EXPECT_EQ(distinct_values({comm, team}, frame, 0, 7).max, 9);
    EXPECT_EQ(distinct_quantiles({comm, team}, frame, 0, 3, {}), (std::vector<double>{0, 4.5, 9}));
  }
}

TEST_F(DistinctValues, RefusesWhatHasNoOrder) {
  HostTeam team(2);
  Frame frame = part_of(comm, {1, 2}, {0, 0}, 0);
  EXPECT_EQ(distinct_values({comm, team}, frame, 0, 5).count, 0);
  EXPECT_THROW(static_cast<void>(distinct_quantiles({comm, team}, frame, 0, 3, {})), Error);
  frame.variables[0].factor = true;
  EXPECT_THROW(static_cast<void>(distinct_values({comm, team}, frame, 0, 5)), Error);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
