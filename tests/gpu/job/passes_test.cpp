// SPDX-License-Identifier: Apache-2.0
#include "gpu_job.hpp"
#include "support/cpus_of.hpp"

#include <tessera/device/backend.hpp>

#include <unistd.h>

#include <atomic>
#include <mutex>
#include <set>
#include <sstream>

namespace tessera::testing {
namespace {

void reduce_on_device(const Tile& tile, std::int64_t block, ReproducibleSum& sum) {
  std::vector<double> units;
  for (std::int64_t unit = tile.range().begin; unit < tile.range().end; ++unit)
    units.push_back(unit_value(unit));
  const std::size_t blocks = (units.size() - 1) / static_cast<std::size_t>(block) + 1;
  const DeviceArray<double> on_device(tile, std::span<const double>(units));
  const DeviceArray<double> partials(tile, blocks * sum_width);
  launch_reduce(native(tile), on_device.data(), static_cast<std::int64_t>(units.size()), block,
                partials.data());
  check(cudaGetLastError());
  std::vector<double> result(blocks * sum_width);
  partials.copy_to(result);
  for (std::size_t b = 0; b < blocks; ++b)
    sum.add(std::span<const double>(result).subspan(b * sum_width, sum_width));
}

/// "0-3,8" as numbers.
std::set<int> listed(const std::string& list) {
  std::set<int> cpus;
  std::istringstream entries(list);
  for (std::string entry; std::getline(entries, entry, ',');) {
    const auto dash = entry.find('-');
    const int first = std::stoi(entry);
    const int last = dash == std::string::npos ? first : std::stoi(entry.substr(dash + 1));
    for (int cpu = first; cpu <= last; ++cpu) cpus.insert(cpu);
  }
  return cpus;
}

using GpuPasses = GpuJob;

TEST_F(GpuPasses, MapOnEveryDevice) {
  const Plan plan = job_->plan(1'000'000);
  const auto units = local_units(*job_, plan);
  const auto results = job_->map<double>(plan, std::span<const double>(units), map_on_device, map_on_host);
  EXPECT_EQ(bits(results), bits(expected_map(*job_, plan)));
  EXPECT_EQ(job_->last_verdict().ran, Verdict::Ran::devices) << job_->last_verdict();
  EXPECT_EQ(job_->last_verdict().devices, static_cast<int>(plan.tiles().size()));
  EXPECT_FALSE(job_->last_verdict().simulated);
}

TEST_F(GpuPasses, MapInPartsThatTheBudgetHolds) {
  const Plan plan = job_->plan(10'000, 100);
  const auto units = local_units(*job_, plan);
  std::int64_t least = job_->inventory().devices()[0].memory_budget_bytes;
  for (const auto& device : job_->inventory().devices()) least = std::min(least, device.memory_budget_bytes);
  std::atomic<int> calls = 0;
  const auto results = job_->map<double>(
      plan, std::span<const double>(units),
      [&](Tile& tile, std::span<const double> in, std::span<double> out) {
        ++calls;
        EXPECT_GE(tile.range().begin, tile.whole().begin);
        EXPECT_LE(tile.range().end, tile.whole().end);
        const auto mine = job_->inventory().devices_of(comm_.rank());
        EXPECT_EQ(tile.memory_budget_bytes(),
                  mine[static_cast<std::size_t>(tile.device_index())].memory_budget_bytes / 2);
        map_on_device(tile, in, out);
      },
      map_on_host, least / 250);
  EXPECT_EQ(bits(results), bits(expected_map(*job_, plan)));
  EXPECT_EQ(job_->last_verdict().ran, Verdict::Ran::devices) << job_->last_verdict();
  EXPECT_GT(comm_.allreduce(std::int64_t{calls}, mpi::Reduction::sum), 10'000 / 300 / 2);
}

TEST_F(GpuPasses, PartsInFlightHaveStreamsOfTheirOwn) {
  const Plan plan = job_->plan(10'000, 100);
  const auto units = local_units(*job_, plan);
  std::mutex mutex;
  std::set<void*> streams;
  const auto results = job_->map<double>(
      plan, std::span<const double>(units),
      [&](Tile& tile, std::span<const double> in, std::span<double> out) {
        const BackendContext backend = probe_backend("test");
        EXPECT_EQ(backend.stream, tile.stream());
        EXPECT_EQ(backend.arena, &tile.arena());
        bool is_first = false;
        {
          const std::lock_guard lock(mutex);
          is_first = streams.insert(tile.stream().native()).second;
        }
        // The first call of each lane waits for the other lane's: both run concurrently.
        while (is_first && tile.whole().size() > tile.range().size()) {
          const std::lock_guard lock(mutex);
          if (std::ssize(streams) == 2 * std::ssize(plan.tiles_of(comm_.rank()))) break;
        }
        map_on_device(tile, in, out);
      },
      map_on_host, job_->inventory().devices()[0].memory_budget_bytes / 1000);
  EXPECT_EQ(bits(results), bits(expected_map(*job_, plan)));
  EXPECT_EQ(job_->last_verdict().ran, Verdict::Ran::devices) << job_->last_verdict();
}

TEST_F(GpuPasses, MemoryIsReusedFromPartToPartAndFromPassToPass) {
  options_.parts_in_flight = 1;  // of several, one may have no part in the first pass
  job_.emplace(comm_, options_);
  const Plan plan = job_->plan(10'000, 100);
  const auto units = local_units(*job_, plan);
  const auto pass = [&] {
    (void)job_->map<double>(plan, std::span<const double>(units), map_on_device, map_on_host,
                            job_->inventory().devices()[0].memory_budget_bytes / 1000);
    EXPECT_EQ(job_->last_verdict().ran, Verdict::Ran::devices) << job_->last_verdict();
  };
  const auto misses = [&] {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < job_->devices().size(); ++i)
      all += job_->buffers().pool_at(i).statistics().misses;
    return all;
  };
  pass();
  // One slab of the arena is enough for a part of a tile.
  EXPECT_EQ(misses(), plan.tiles_of(comm_.rank()).size());
  pass();
  EXPECT_EQ(misses(), plan.tiles_of(comm_.rank()).size());
}

TEST_F(GpuPasses, TheBackendOfATileHasItsArenaAndStream) {
  const Plan plan = job_->plan(1000);
  const auto units = local_units(*job_, plan);
  (void)job_->map<double>(
      plan, std::span<const double>(units),
      [](Tile& tile, std::span<const double> in, std::span<double> out) {
        const BackendContext backend = probe_backend("test");
        EXPECT_EQ(to_string(backend.device->info().uuid), to_string(tile.device().uuid));
        EXPECT_EQ(backend.stream, tile.stream());
        EXPECT_EQ(backend.arena, &tile.arena());
        EXPECT_TRUE(tile.workspace(1 << 20));
        map_on_device(tile, in, out);
      },
      map_on_host);
  EXPECT_EQ(job_->last_verdict().ran, Verdict::Ran::devices) << job_->last_verdict();
}

TEST_F(GpuPasses, ReduceGivesTheBitsOfTheHost) {
  constexpr std::int64_t block = 64;
  const Plan plan = job_->plan(100'000, block);
  const auto sums = job_->reduce(
      plan, sum_width, [](Tile& tile, ReproducibleSum& sum) { reduce_on_device(tile, block, sum); },
      [](const HostTile& tile, std::span<double> partial) { add_block(tile.range, partial); });
  EXPECT_EQ(bits(sums), bits(expected_sums(100'000, block)));
  EXPECT_EQ(job_->last_verdict().ran, Verdict::Ran::devices) << job_->last_verdict();
}

TEST_F(GpuPasses, EachTileHasItsDeviceAndItsNearCores) {
  const Plan plan = job_->plan(10'000);
  const auto units = local_units(*job_, plan);
  const auto allowed = cpus_of(getpid());
  std::mutex guard;
  std::set<int> devices;
  (void)job_->map<double>(
      plan, std::span<const double>(units),
      [&](Tile& tile, std::span<const double>, std::span<double>) {
        const std::lock_guard lock(guard);
        devices.insert(tile.device_index());
        int current = -1;
        check(cudaGetDevice(&current));
        cudaDeviceProp properties{};
        check(cudaGetDeviceProperties(&properties, current));
        EXPECT_EQ(properties.multiProcessorCount, tile.device().multiprocessors);
        if (!tile.device().mig()) {
          EXPECT_TRUE(std::equal(tile.device().uuid.bytes.begin(), tile.device().uuid.bytes.end(),
                                 reinterpret_cast<const std::uint8_t*>(properties.uuid.bytes)));
        }
        EXPECT_GT(tile.device().l2_bytes.value_or(0), 0);

        std::set<int> near;
        std::ranges::set_intersection(listed(tile.device().near_cpuset), allowed,
                                      std::inserter(near, near.end()));
        EXPECT_EQ(cpus_of(0), near.empty() ? allowed : near);
      },
      map_on_host);
  EXPECT_EQ(job_->last_verdict().ran, Verdict::Ran::devices) << job_->last_verdict();
  EXPECT_EQ(devices.size(), plan.tiles_of(comm_.rank()).size());
  EXPECT_EQ(cpus_of(getpid()), allowed);
}

TEST_F(GpuPasses, AFaultPointFallsBackAndTheInputIsUntouched) {
  const ScopedVariable fault("TESSERA_FAULT", "throw@rank*:pass1");
  job_.reset();  // another job drives no device that this one does
  Job job(comm_);
  const Plan plan = job.plan(5000);
  auto units = local_units(job, plan);
  job.scatter(
      plan, std::span(units), [](Tile& tile, std::span<double> part) { map_on_device(tile, part, part); },
      [](const HostTile&, std::span<double> part) {
        for (double& unit : part) unit = unit_result(unit);
      });
  EXPECT_EQ(bits(units), bits(expected_map(job, plan)));
#ifdef TESSERA_HAVE_FAULTS
  EXPECT_EQ(job.last_verdict().ran, Verdict::Ran::fallback);
#endif
}

TEST_F(GpuPasses, MeasuredScoresComeFromTheDevices) {
  JobOptions options;
  options.score_model = ScoreModel::measured;
  std::atomic<int> runs = 0;
  options.measure = [&](Tile& tile) -> std::int64_t {
    ++runs;
    std::vector<double> in(100'000, 2.0);
    map_on_device(tile, in, in);
    return static_cast<std::int64_t>(in.size());
  };
  job_.reset();
  const Job job(comm_, options);
  ASSERT_FALSE(job.on_host()) << job.last_verdict();
  for (const auto& device : job.inventory().devices()) EXPECT_GT(device.score, 0u);
  EXPECT_EQ(runs, 2 * static_cast<int>(job.inventory().devices_of(comm_.rank()).size()));
}

TEST_F(GpuPasses, AMeasurementThatFailsMakesTheJobFallBack) {
  JobOptions options;
  options.score_model = ScoreModel::measured;
  options.measure = [](Tile& tile) -> std::int64_t {
    tile.fail("no time for this");
    return 1;
  };
  job_.reset();
  const Job job(comm_, options);
  EXPECT_TRUE(job.on_host());
  EXPECT_EQ(job.last_verdict().ran, Verdict::Ran::fallback);
  EXPECT_EQ(job.last_verdict().failure.stage, "score");
  EXPECT_EQ(job.last_verdict().failure.reason, "no time for this");
}

TEST_F(GpuPasses, LeaveTheEnvironmentAndTheDevicesToTheNextJob) {
  job_.reset();
  const std::optional<std::string> before =
      std::getenv("CUDA_VISIBLE_DEVICES") != nullptr
          ? std::optional<std::string>(std::getenv("CUDA_VISIBLE_DEVICES"))
          : std::nullopt;
  const auto now = [] {
    const char* text = std::getenv("CUDA_VISIBLE_DEVICES");
    return text != nullptr ? std::optional<std::string>(text) : std::nullopt;
  };
  std::size_t devices = 0;
  for (int round = 0; round < 2; ++round) {
    Job job(comm_);
    const auto units = local_units(job, job.plan(1000));
    const auto results =
        job.map<double>(job.plan(1000), std::span<const double>(units), map_on_device, map_on_host);
    EXPECT_EQ(job.last_verdict().ran, Verdict::Ran::devices) << job.last_verdict();
    if (!job.devices().empty()) {
      EXPECT_EQ(now(), before);
    }
    if (round == 0) devices = job.inventory().devices().size();
    EXPECT_EQ(job.inventory().devices().size(), devices);
    const Job second(comm_);
    EXPECT_TRUE(second.on_host()) << second.last_verdict();
  }
  EXPECT_EQ(now(), before);
}

}  // namespace
}  // namespace tessera::testing
