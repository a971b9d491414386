// SPDX-License-Identifier: Apache-2.0
#include "simulated_job.hpp"
#include "start_work.hpp"
#include "suite.hpp"

#include <tessera/job/balancer.hpp>
#include <tessera/job/tile.hpp>
#include <tessera/memory/arena.hpp>

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/counted.hpp"

namespace tessera::bench {
namespace {

constexpr std::int64_t block_of_passes = 8192;

struct BalanceSuite {
  std::int64_t units = std::int64_t{1} << 26;
  int rounds = 20'000;
  int passes = 10;
};

void iterate_on_host(std::int64_t units, int rounds) {
  for (std::int64_t unit = 0; unit < units; ++unit) {
    volatile double value = 1 + static_cast<double>(unit % 1024);
    for (int round = 0; round < rounds; ++round) value = 0.999 * value + 0.001;
  }
}

/// The longest time of a device, and that by the mean of all.
struct PassTime {
  double longest = 0;
  double imbalance = 1;
};

/// *Collective.* A pass of equal units over `plan`, timed by device.
PassTime time_pass(Job& job, const Plan& plan, const BalanceSuite& suite) {
  using Clock = std::chrono::steady_clock;
  const auto devices = job.inventory().devices_of(job.comm().rank()).size();
  std::vector<double> seconds(devices);
  const auto since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  static_cast<void>(job.reduce(
      plan, 1,
      [&](Tile& tile, ReproducibleSum& sum) {
        const auto start = Clock::now();
        double* const out = tile.arena().take<double>(static_cast<std::size_t>(tile.range().size()));
        iterate_on_device(out, tile.range().size(), suite.rounds, tile.stream());
        seconds[static_cast<std::size_t>(tile.device_index())] = since(start);
        for (std::int64_t done = 0; done < tile.range().size(); done += block_of_passes)
          sum.add(std::array{static_cast<double>(std::min(block_of_passes, tile.range().size() - done))});
      },
      [&](const HostTile& tile, std::span<double> partial) {
        const auto start = Clock::now();
        iterate_on_host(tile.range.size(), suite.rounds);
        if (tile.device >= 0) seconds[static_cast<std::size_t>(tile.device)] += since(start);
        partial[0] = static_cast<double>(tile.range.size());
      }));
  double mine = 0;
  for (const double one : seconds) mine += one;
  const double longest =
      job.comm().allreduce(seconds.empty() ? 0 : std::ranges::max(seconds), mpi::Reduction::max);
  const double all = job.comm().allreduce(mine, mpi::Reduction::sum);
  return {longest, longest * static_cast<double>(job.inventory().devices().size()) / all};
}

std::vector<Measurement> run_balance_suite(const mpi::Communicator& comm, const SuiteOptions& options,
                                           const BalanceSuite& suite) {
  Job job = job_on_devices(comm, job_options(options));
  Balancer balancer(job, job.plan(suite.units, block_of_passes));
  static_cast<void>(time_pass(job, balancer.plan(), suite));  // devices start
  std::vector<PassTime> times;
  int plans = 1;
  for (int pass = 0; pass < suite.passes; ++pass) {
    times.push_back(time_pass(job, balancer.plan(), suite));
    if (balancer.rebalance()) ++plans;
  }
  Case out("balance",
           fmt::format("{} units on {}", suite.units,
                       base::counted(static_cast<std::int64_t>(job.inventory().devices().size()), "device")));
  out("longest time of a device, first pass", "s").values = {times.front().longest};
  out("longest time of a device, last pass", "s").values = {times.back().longest};
  out("by the mean of all, first pass", "1").values = {times.front().imbalance};
  out("by the mean of all, last pass", "1").values = {times.back().imbalance};
  out("plans", "1").values = {static_cast<double>(plans)};
  return out.take();
}

}  // namespace

Suite balance_suite() {
  const auto chosen = std::make_shared<BalanceSuite>();
  Suite suite;
  suite.name = "balance";
  suite.description = "Passes of equal units under a Balancer, for devices that another program slows down";
  suite.add_options = [chosen](CLI::App& command) {
    command.add_option("--units", chosen->units, "Units of a pass")
        ->check(from_to(1, std::int64_t{1} << 40))
        ->capture_default_str();
    command.add_option("--rounds", chosen->rounds, "Steps of a unit")
        ->check(from_to(1, 1 << 30))
        ->capture_default_str();
    command.add_option("--passes", chosen->passes, "Passes")
        ->check(from_to(1, 10'000))
        ->capture_default_str();
  };
  suite.run = [chosen](const mpi::Communicator& comm, const SuiteOptions& options) {
    return run_balance_suite(comm, options, *chosen);
  };
  return suite;
}

}  // namespace tessera::bench
