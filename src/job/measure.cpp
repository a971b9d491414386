// SPDX-License-Identifier: Apache-2.0
#include "job/measure.hpp"

#include "job/attempt.hpp"
#include "job/device_threads.hpp"
#include "job/state.hpp"

#include <tessera/error.hpp>
#include <tessera/topology/score.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <numeric>

namespace tessera {
namespace {

/// Runs `work` once to its end on the device and returns how many units it did.
std::int64_t run_once(const std::function<std::int64_t(Tile&)>& work, Tile& tile,
                      const DeviceContext& context) {
  std::int64_t units = 0;
  try {
    units = work(tile);
  } catch (...) {
    drain(context);
    throw;
  }
  context.synchronize();
  if (tile.failed()) throw Error(ErrorCode::job_fault, tile.reason());
  if (units <= 0) throw Error(ErrorCode::job_fault, "the timed run did no unit");
  return units;
}

std::uint64_t measure_one(const ClaimedDevice& claimed, int index,
                          const std::function<std::int64_t(Tile&)>& work) {
  bind_this_thread_near(claimed.info);
  const DeviceContext context(claimed.info);
  context.bind();
  BufferPool buffers(make_upstream(context));
  DrivenDevice own;
  Tile tile({}, {}, index, context.info(), context.stream(),
            own.memory(buffers, context, claimed.info.memory_budget_bytes() / std::max(claimed.sharers, 1)));
  (void)run_once(work, tile, context);
  const auto start = std::chrono::steady_clock::now();
  const std::int64_t units = run_once(work, tile, context);
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - start;
  return measured_score(units, std::max<std::int64_t>(1, took.count()));
}

}  // namespace

std::vector<std::uint64_t> measure(const std::vector<ClaimedDevice>& devices,
                                   const std::function<std::int64_t(Tile&)>& work,
                                   std::optional<Verdict::Failure>& failure) {
  std::vector<std::uint64_t> scores(devices.size());
  std::vector<std::exception_ptr> thrown(devices.size());
  std::vector<int> all(devices.size());
  std::iota(all.begin(), all.end(), 0);
  const auto measure_its = [&](int index) {
    const auto i = static_cast<std::size_t>(index);
    const DeviceInfo& device = devices[i].info;
    try {
      scores[i] =
          device.simulated ? score(device, ScoreModel::throughput) : measure_one(devices[i], index, work);
    } catch (...) {
      thrown[i] = std::current_exception();
    }
  };
  try {
    DeviceThreads(all.size()).run(all, measure_its);
  } catch (...) {  // the system has no more threads
    std::ranges::fill(thrown, std::current_exception());
  }
  for (std::size_t i = 0; i < devices.size() && !failure; ++i) {
    if (!thrown[i]) continue;
    failure.emplace();
    failure->device = static_cast<int>(i);
    failure->uuid = to_string(devices[i].info.uuid);
    failure->stage = "score";
    failure->reason = reason_of(thrown[i]);
  }
  return scores;
}

}  // namespace tessera
