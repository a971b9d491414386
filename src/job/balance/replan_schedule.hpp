// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job/balance/work_estimate.hpp"

#include <tessera/version.hpp>

#include <algorithm>

namespace TESSERA_NAMESPACE {

/// Decides, the same on every rank, when a balancer looks for a better plan, and which gain justifies one.
///
/// A balancer looks for one after every `BalancerOptions::iterations` iterations. Until a plan has been kept
/// once, it looks earlier: while speeds are unknown, gains are large, and waiting costs more than noise.
class ReplanSchedule {
 public:
  /// Arguments as in `BalancerOptions`.
  ReplanSchedule(int iterations, double gain) : iterations_(iterations), gain_(gain) {}

  /// Call when the plan was replaced.
  void begin_next() {
    measured_ = 0;
    settled_ = false;
    first_ = false;
  }
  /// Counts a measured iteration. True if it is time to look for a better plan.
  [[nodiscard]] bool take_iteration() {
    ++measured_;
    // The very first iteration includes the start of the devices.
    return is_full() || (!settled_ && measured_ >= (first_ ? 2 : 1));
  }
  /// Number of measured iterations; 0 if measurements start again.
  [[nodiscard]] int measured() const { return measured_; }

  /// Whether `better` is to replace the plan.
  [[nodiscard]] bool replaces(const BalancedPlan& better) {
    // The times of a single iteration may be far off. A small gain suffices if the new plan cannot be worse.
    const double weight = measured_ < std::min(iterations_, 2) ? 3 : better.certain ? 1 : 1.5;
    const bool replaces = better.gain > 1 && better.gain >= 1 + weight * (gain_ - 1);
    if (is_full()) {
      settled_ = !replaces;
      measured_ = 0;
    }
    return replaces;
  }

 private:
  [[nodiscard]] bool is_full() const { return measured_ >= iterations_; }

  int iterations_;
  double gain_;
  int measured_ = 0;  ///< iterations since the plan began or `is_full` was last true
  bool settled_ = false;
  bool first_ = true;
};

}  // namespace TESSERA_NAMESPACE
