// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/partition/plan.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE {

/// Times of the passes over one plan, for a `Balancer`. `plan` is the plan's fingerprint.
struct PassTimes {
  std::uint64_t plan = 0;
  int passes = 0;                 ///< passes since the balancer last read the times
  bool on_devices = false;        ///< whether the times are of devices, else of hosts
  std::vector<double> seconds{};  ///< sums over the passes, by tile of this rank, or for its host
};

/// Records the times of passes over the plans that balancers watch.
class PassTimers {
 public:
  [[nodiscard]] std::shared_ptr<PassTimes> watch(const Plan& plan) {
    const auto times = std::make_shared<PassTimes>();
    times->plan = plan.fingerprint();
    watched_.push_back(times);
    return times;
  }
  [[nodiscard]] std::vector<std::shared_ptr<PassTimes>> of(const Plan& plan) {
    std::vector<std::shared_ptr<PassTimes>> found;
    std::erase_if(watched_, [](const auto& times) { return times.expired(); });
    for (const auto& watcher : watched_)
      if (auto times = watcher.lock(); times->plan == plan.fingerprint()) found.push_back(std::move(times));
    return found;
  }
  void record(const Plan& plan, bool on_devices, std::span<const double> seconds) {
    for (const auto& times : of(plan)) {
      if (times->passes++ == 0 || times->on_devices != on_devices) times->seconds.assign(seconds.size(), 0);
      times->on_devices = on_devices;
      for (std::size_t i = 0; i < seconds.size(); ++i) times->seconds[i] += seconds[i];
    }
  }

 private:
  std::vector<std::weak_ptr<PassTimes>> watched_;
};

}  // namespace TESSERA_NAMESPACE
