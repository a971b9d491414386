// SPDX-License-Identifier: Apache-2.0
#include "mpi/job/job_testing.hpp"

#include <tessera/job/reproducible_sum.hpp>
#include <tessera/job/together.hpp>

#include <array>
#include <cmath>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

namespace tessera::testing {
namespace {

/// A job's devices, with a name for the test's output.
struct Hardware {
  const char* name;
  const char* simulate;
};

void PrintTo(const Hardware& hardware, std::ostream* out) {
  *out << hardware.name;
}

class Passes : public ::testing::TestWithParam<std::tuple<Hardware, int>> {
 protected:
  Passes()
      : simulate_("TESSERA_SIMULATE", std::get<0>(GetParam()).simulate),
        fault_("TESSERA_FAULT", std::nullopt),
        job_(world(), with_threads(std::get<1>(GetParam()))) {}

  /// Expects the verdict of the pass over `plan`.
  void expect_verdict(const Plan& plan) {
    const Verdict& verdict = job_.last_verdict();
    if (job_.inventory().devices().empty()) {
      EXPECT_EQ(verdict.ran, Verdict::Ran::host);
      EXPECT_EQ(verdict.devices, 0);
      EXPECT_FALSE(verdict.absence.empty());
    } else {
      EXPECT_EQ(verdict.ran, Verdict::Ran::devices);
      EXPECT_EQ(verdict.devices, static_cast<int>(plan.tiles().size()));
      EXPECT_TRUE(verdict.simulated);
    }
    expect_same_on_all_ranks(job_.comm(), to_string(verdict));
  }

  ScopedVariable simulate_;
  ScopedVariable fault_;
  Job job_;
};

TEST_P(Passes, MapGivesEveryUnit) {
  for (const std::int64_t units : {0, 1, 2, 1000, 12345}) {
    const Plan plan = job_.plan(units);
    EXPECT_EQ(bits(map_units(job_, plan)), bits(expected_map(job_, plan))) << units;
    expect_verdict(plan);
  }
}

TEST_P(Passes, ScatterChangesEveryUnitOnce) {
  const Plan plan = job_.plan(4321, 10);
  auto units = local_units(job_, plan);
  job_.scatter(plan, std::span(units), no_real_device, [](const HostTile&, std::span<double> part) {
    for (double& unit : part) unit = unit_result(unit);
  });
  EXPECT_EQ(bits(units), bits(expected_map(job_, plan)));
  expect_verdict(plan);
}

TEST_P(Passes, ReduceGivesTheSameBitsForAnyRanksThreadsAndDevices) {
  for (const std::int64_t units : {0, 1, 63, 64, 5000}) {
    const Plan plan = job_.plan(units, 64);
    EXPECT_EQ(bits(reduce_units(job_, plan)), bits(expected_sums(units, 64))) << units;
    expect_verdict(plan);
  }
}

TEST_P(Passes, HostOnlyRunsOnTheHostsAndLeavesTheDevicesToLaterPasses) {
  const Plan plan = job_.plan(4321, 64);
  const auto expect_hosts = [&] {
    const Verdict& verdict = job_.last_verdict();
    EXPECT_EQ(verdict.ran, Verdict::Ran::host);
    EXPECT_EQ(verdict.devices, 0);
    if (!job_.inventory().devices().empty()) {
      EXPECT_EQ(verdict.absence, "the pass runs only on hosts");
    }
    expect_same_on_all_ranks(job_.comm(), to_string(verdict));
  };
  std::mutex mutex;
  std::set<int> teams;  // a tile of a simulated device would have as many threads as the rank has devices
  const auto seen = [&](const HostTile& tile) {
    const std::lock_guard lock(mutex);
    teams.insert(tile.threads);
  };
  const auto units = local_units(job_, plan);
  const std::vector<double> results =
      job_.map<double>(plan, std::span<const double>(units), host_only,
                       [&](const HostTile& tile, std::span<const double> in, std::span<double> out) {
                         seen(tile);
                         std::ranges::transform(in, out.begin(), unit_result);
                       });
  EXPECT_EQ(bits(results), bits(expected_map(job_, plan)));
  expect_hosts();
  auto changed = units;
  job_.scatter(plan, std::span(changed), host_only, [&](const HostTile& tile, std::span<double> part) {
    seen(tile);
    for (double& unit : part) unit = unit_result(unit);
  });
  EXPECT_EQ(bits(changed), bits(results));
  expect_hosts();
  const std::vector<double> sums =
      job_.reduce(plan, sum_width, host_only, [&](const HostTile& tile, std::span<double> partial) {
        seen(tile);
        add_block(tile.range, partial);
      });
  EXPECT_EQ(bits(sums), bits(expected_sums(4321, 64)));
  expect_hosts();
  EXPECT_EQ(job_.on_host(), job_.inventory().devices().empty());
  if (!job_.local_range(plan).empty()) {
    EXPECT_EQ(teams, std::set<int>{job_.threads()});
  }

  EXPECT_EQ(bits(map_units(job_, plan)), bits(results));
  expect_verdict(plan);
}

TEST_P(Passes, UnitsAreInAnyContiguousRange) {
  const Plan plan = Plan::over_hosts(4 * job_.comm().size(), job_.comm().size());
  const auto squared = [&](const auto& units) {
    return job_.map<double>(
        plan, units, host_only, [](const HostTile&, std::span<const double> in, std::span<double> out) {
          std::ranges::transform(in, out.begin(), [](double unit) { return unit * unit; });
        });
  };
  const auto doubled = [&](auto&& units) {
    job_.scatter(plan, std::forward<decltype(units)>(units), host_only,
                 [](const HostTile&, std::span<double> part) {
                   for (double& unit : part) unit *= 2;
                 });
  };
  std::vector<double> vector{1, 2, 3, 4};
  std::array<double, 4> array{1, 2, 3, 4};
  double plain[] = {1, 2, 3, 4};  // NOLINT(modernize-avoid-c-arrays): it is one of the ranges
  const std::vector<double> squares{1, 4, 9, 16};
  EXPECT_EQ(squared(vector), squares);
  EXPECT_EQ(squared(std::as_const(vector)), squares);
  EXPECT_EQ(squared(array), squares);
  EXPECT_EQ(squared(plain), squares);
  EXPECT_EQ(squared(std::span(vector)), squares);
  EXPECT_EQ(squared(std::span<const double, 4>(array)), squares);
  doubled(vector);
  doubled(array);
  doubled(plain);
  doubled(std::span(vector));
  EXPECT_EQ(vector, (std::vector<double>{4, 8, 12, 16}));
  EXPECT_EQ(array, (std::array<double, 4>{2, 4, 6, 8}));
  EXPECT_EQ(std::vector<double>(std::begin(plain), std::end(plain)), (std::vector<double>{2, 4, 6, 8}));
}

TEST_P(Passes, FunctionsNeedNotBeCopied) {
  const Plan plan = job_.plan(300, 10);
  const auto units = local_units(job_, plan);
  const auto one = [] { return std::make_unique<double>(1); };
  const auto on_device = [](auto moved) {
    return [moved = std::move(moved)](Tile& tile, auto&&...) { no_real_device(tile); };
  };
  const auto plus = [moved = one()](const HostTile&, std::span<const double> in, std::span<double> out) {
    std::ranges::transform(in, out.begin(), [&](double unit) { return unit + *moved; });
  };
  const auto result = job_.map<double>(plan, std::span<const double>(units), on_device(one()), plus);
  auto changed = units;
  job_.scatter(plan, std::span(changed), on_device(one()),
               [moved = one()](const HostTile&, std::span<double> part) {
                 for (double& unit : part) unit += *moved;
               });
  EXPECT_EQ(bits(changed), bits(result));
  EXPECT_EQ(
      job_.reduce(plan, 1, on_device(one()),
                  [moved = one()](const HostTile&, std::span<double> partial) { partial[0] += *moved; }),
      std::vector<double>{30});
  double here = 0;
  job_.run_alive([moved = one(), &here] { here += *moved; });
  together(job_.comm(), [moved = one(), &here] { here += *moved; });
  EXPECT_EQ(here, 2);
}

TEST_P(Passes, APlanOverHostsRunsOnTheHosts) {
  const Plan plan = Plan::over_hosts(700, job_.comm().size(), 64);
  EXPECT_EQ(bits(reduce_units(job_, plan)), bits(expected_sums(700, 64)));
  EXPECT_EQ(job_.last_verdict().ran, Verdict::Ran::host);
  EXPECT_EQ(job_.last_verdict().devices, 0);
  expect_same_on_all_ranks(job_.comm(), to_string(job_.last_verdict()));
}

TEST_P(Passes, TilesComeInPartsThatTheBudgetHolds) {
  constexpr std::int64_t block = 8;
  const Plan plan = job_.plan(4000, block);
  // The smallest device of these tests is a T4 with a budget of 8 GiB: 20 units, so 2 blocks.
  constexpr std::int64_t bytes_per_unit = (std::int64_t{8} << 30) / 20;
  std::mutex guard;
  std::vector<std::pair<int, Range>> parts;
  const auto units = local_units(job_, plan);
  const auto results = job_.map<double>(
      plan, std::span<const double>(units), no_real_device,
      [&](const HostTile& tile, std::span<const double> in, std::span<double> out) {
        std::ranges::transform(in, out.begin(), unit_result);
        const std::lock_guard lock(guard);
        EXPECT_LT(tile.thread, tile.threads);
        parts.emplace_back(tile.thread, tile.range);
      },
      bytes_per_unit);
  EXPECT_EQ(bits(results), bits(expected_map(job_, plan)));
  if (job_.on_host()) return;
  const auto devices = job_.inventory().devices_of(job_.comm().rank());
  for (const auto& [thread, part] : parts) {
    EXPECT_EQ(part.begin % block, 0);
    EXPECT_LE(part.size() * bytes_per_unit,
              devices[static_cast<std::size_t>(thread) % devices.size()].memory_budget_bytes);
  }
  EXPECT_GE(parts.size(), plan.tiles_of(job_.comm().rank()).size());
}

TEST_P(Passes, SumsDoNotDependOnHowTilesAreCut) {
  const Plan plan = job_.plan(4000, 8);
  EXPECT_EQ(bits(reduce_units(job_, plan, (std::int64_t{8} << 30) / 20)), bits(expected_sums(4000, 8)));
}

INSTANTIATE_TEST_SUITE_P(
    Jobs, Passes,
    ::testing::Combine(::testing::Values(Hardware{"none", "rank9999:T4"},  // nobody here is rank 9999
                                         Hardware{"one_each", "*:H200"},
                                         Hardware{"uneven", "rank0:2xH200+T4; rank1:T4; *:A100+L40S"},
                                         Hardware{"some_without", "rank0:H200; rank2:2xT4; rank7:V100"},
                                         Hardware{"only_the_last", "rank0:T4; rank4:8xH200"}),
                       ::testing::Values(1, 2)),
    [](const auto& test) {
      return std::string(std::get<0>(test.param).name) + "_threads" + std::to_string(std::get<1>(test.param));
    });

// The threads of a rank share one sum of this width.
TEST(WideSums, HaveTheBitsOfNarrowOnes) {
  constexpr std::size_t width = (std::size_t{1} << 17) + 12'345;
  Job job(world(), with_threads(3));
  const Plan plan = job.plan(40, 2);
  const auto element = [](std::int64_t block, std::size_t j) {
    return (j + static_cast<std::size_t>(block)) % 3 == 0
               ? std::ldexp(1.0 / static_cast<double>(j + 3), static_cast<int>(block))
               : 0.0;
  };
  const auto sums = job.reduce(plan, width, host_only, [&](const HostTile& tile, std::span<double> partial) {
    for (std::size_t j = 0; j < width; ++j) {
      EXPECT_EQ(partial[j], 0);
      partial[j] = element(tile.range.begin, j);
    }
  });
  ReproducibleSum expected(width);
  std::vector<double> vector(width);
  for (std::int64_t block = 0; block < 40; block += 2) {
    for (std::size_t j = 0; j < width; ++j) vector[j] = element(block, j);
    expected.add(vector);
  }
  EXPECT_EQ(sums, expected.values());
}

TEST(TileThreads, EveryTileHasAThreadOfItsOwn) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:3xT4");
  const ScopedVariable fault("TESSERA_FAULT", std::nullopt);
  Job job(world());
  ASSERT_EQ(job.devices().size(), 3u);
  const Plan plan = job.plan(300 * job.comm().size());
  std::mutex guard;
  std::set<std::thread::id> threads;
  std::set<int> devices;
  const auto units = local_units(job, plan);
  (void)job.map<double>(plan, std::span<const double>(units), no_real_device,
                        [&](const HostTile& tile, std::span<const double>, std::span<double>) {
                          const std::lock_guard lock(guard);
                          threads.insert(std::this_thread::get_id());
                          devices.insert(tile.thread);
                          EXPECT_EQ(tile.threads, 3);
                        });
  EXPECT_EQ(threads.size(), 3u);
  EXPECT_EQ(threads.count(std::this_thread::get_id()), 0u);
  EXPECT_EQ(devices, (std::set<int>{0, 1, 2}));
}

}  // namespace
}  // namespace tessera::testing
