// SPDX-License-Identifier: Apache-2.0
#include "start_work.hpp"
#include "suite.hpp"

#include <tessera/job/balancer.hpp>
#include <tessera/job/tile.hpp>
#include <tessera/memory/arena.hpp>

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/pluralised.hpp"

namespace tessera::bench {
namespace {

struct BalanceSuite {
  std::int64_t units = std::int64_t{1} << 26;
  int rounds = 20'000;
  int passes = 10;
  bool hosts = false;

  /// Smaller blocks if hosts compute: a host thread is about a hundred times slower than a GPU.
  [[nodiscard]] std::int64_t block() const { return hosts ? 256 : 8192; }
};

/// *Collective.* A job on the GPUs; if there are none, on eight simulated devices per rank.
Job job_on_devices(const mpi::Communicator& comm, JobOptions options) {
  Job job(comm, options);
  if (!job.on_host()) return job;
  setenv("TESSERA_SIMULATE", "*:8xH200", 1);
  options.policy = Policy::gpu;
  Job rehearsal(comm, std::move(options));
  unsetenv("TESSERA_SIMULATE");
  return rehearsal;
}

/// Iterates several units together, so that the compiler vectorises.
void iterate_on_host(std::int64_t units, int rounds) {
  std::array<double, 16> values{};
  volatile double kept = 0;  // prevents dead-code elimination
  for (std::int64_t unit = 0; unit < units; unit += std::ssize(values)) {
    values.fill(1 + static_cast<double>(unit % 1024));
    for (int round = 0; round < rounds; ++round) {
      for (double& value : values) value = 0.999 * value + 0.001;
    }
    kept = kept + std::accumulate(values.begin(), values.end(), 0.0);
  }
}

/// Lets host threads compute too, with scores measured on samples of the work.
void add_hosts(JobOptions& options, int rounds) {
  constexpr std::int64_t sample_of_gpu = std::int64_t{1} << 20;
  constexpr std::int64_t sample_of_thread = 256;
  options.hosts = true;
  options.score_model = ScoreModel::measured;
  options.measure = [rounds](Tile& tile) {
    double* const out = tile.arena().take<double>(static_cast<std::size_t>(sample_of_gpu));
    iterate_on_device(out, sample_of_gpu, rounds, tile.stream());
    return sample_of_gpu;
  };
  options.measure_on_host = [rounds](const HostTile& /*tile*/) {
    iterate_on_host(sample_of_thread, rounds);
    return sample_of_thread;
  };
}

struct PassTime {
  double longest = 0;
  double imbalance = 1;
};

/// *Collective.* One pass of equal units over `plan`, timed per device.
PassTime time_pass(Job& job, const Plan& plan, const BalanceSuite& suite) {
  using Clock = std::chrono::steady_clock;
  const auto devices = job.inventory().devices_of(job.comm().rank());
  const std::int64_t hosts = std::ranges::count(devices, true, &InventoryDevice::host);
  std::vector<std::atomic<double>> seconds(devices.size());
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
        for (std::int64_t done = 0; done < tile.range().size(); done += suite.block())
          sum.add(std::array{static_cast<double>(std::min(suite.block(), tile.range().size() - done))});
      },
      [&](const HostTile& tile, std::span<double> partial) {
        const auto start = Clock::now();
        iterate_on_host(tile.range.size(), suite.rounds);
        if (tile.device >= 0) {
          // Mean time per computing thread: the threads that drive GPUs do not compute.
          const bool of_host = devices[static_cast<std::size_t>(tile.device)].host;
          const auto threads = of_host ? tile.threads - (std::ssize(devices) - hosts) : 1;
          seconds[static_cast<std::size_t>(tile.device)] += since(start) / static_cast<double>(threads);
        }
        partial[0] = static_cast<double>(tile.range.size());
      }));
  double mine = 0;
  double longest_here = 0;
  for (const double one : seconds) {
    mine += one;
    longest_here = std::max(longest_here, one);
  }
  const double longest = job.comm().allreduce(longest_here, mpi::Reduction::max);
  const double all = job.comm().allreduce(mine, mpi::Reduction::sum);
  return {longest, longest * static_cast<double>(job.inventory().devices().size()) / all};
}

std::vector<Measurement> run_balance_suite(const mpi::Communicator& comm, const SuiteOptions& options,
                                           const BalanceSuite& suite) {
  JobOptions chosen = job_options(options);
  if (suite.hosts) add_hosts(chosen, suite.rounds);
  Job job = job_on_devices(comm, chosen);
  Balancer balancer(job, job.plan(suite.units, suite.block()));
  static_cast<void>(time_pass(job, balancer.plan(), suite));  // warm-up: starts the devices
  std::vector<PassTime> times;
  int plans = 1;
  for (int pass = 0; pass < suite.passes; ++pass) {
    times.push_back(time_pass(job, balancer.plan(), suite));
    if (balancer.rebalance()) ++plans;
  }
  Case out(
      "balance",
      fmt::format("{} units on {}", suite.units,
                  base::pluralised(static_cast<std::int64_t>(job.inventory().devices().size()), "device")));
  out("longest time of a device, first pass", "s").values = {times.front().longest};
  out("longest time of a device, last pass", "s").values = {times.back().longest};
  out("by the mean of all, first pass", "1").values = {times.front().imbalance};
  out("by the mean of all, last pass", "1").values = {times.back().imbalance};
  out("plans", "1").values = {static_cast<double>(plans)};
  if (suite.hosts) {
    std::int64_t of_hosts = 0;
    for (const InventoryDevice& device : job.inventory().devices()) {
      if (!device.host) continue;
      for (const PlannedTile& tile : balancer.plan().tiles_of(device.rank)) {
        if (tile.device == device.index) of_hosts += tile.units.size();
      }
    }
    out("part of the hosts", "1").values = {static_cast<double>(of_hosts) / static_cast<double>(suite.units)};
  }
  return out.take();
}

}  // namespace

Suite balance_suite() {
  const auto chosen = std::make_shared<BalanceSuite>();
  return {"balance", "Passes of equal units under a Balancer, for devices that another program slows down",
          [chosen](const mpi::Communicator& comm, const SuiteOptions& options) {
            return run_balance_suite(comm, options, *chosen);
          },
          [chosen](CLI::App& command) {
            command.add_option("--units", chosen->units, "Units per pass")
                ->check(from_to(1, std::int64_t{1} << 40))
                ->capture_default_str();
            command.add_option("--rounds", chosen->rounds, "Steps per unit")
                ->check(from_to(1, 1 << 30))
                ->capture_default_str();
            command.add_option("--passes", chosen->passes, "Number of passes")
                ->check(from_to(1, 10'000))
                ->capture_default_str();
            command.add_flag("--hosts", chosen->hosts, "Hosts compute too, not only their GPUs");
          }};
}

}  // namespace tessera::bench
