// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/partition/plan.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE {

/// The times of passes over one plan, for a `Balancer`: on the devices of the plan, or on hosts if the job
/// has none.
struct PassTimes {
  std::uint64_t plan = 0;         ///< fingerprint of the plan
  int passes = 0;                 ///< passes since the times were last read
  bool on_devices = false;        ///< true: times of devices; false: of hosts
  std::vector<double> seconds{};  ///< times of this rank's tiles, or of its units on the host
};

/// Records the times of passes for each plan that a balancer watches.
class PassTimers {
 public:
  [[nodiscard]] std::shared_ptr<PassTimes> watch(const Plan& plan) {
    const auto times = std::make_shared<PassTimes>();
    times->plan = plan.fingerprint();
    watched_.push_back(times);
    return times;
  }
  /// The times of passes over this plan.
  [[nodiscard]] std::vector<std::shared_ptr<PassTimes>> of(const Plan& plan) {
    std::vector<std::shared_ptr<PassTimes>> found;
    std::erase_if(watched_, [](const auto& times) { return times.expired(); });
    for (const auto& watcher : watched_)
      if (auto times = watcher.lock(); times->plan == plan.fingerprint()) found.push_back(std::move(times));
    return found;
  }
  /// Adds the seconds of a pass to the times of its plan.
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
