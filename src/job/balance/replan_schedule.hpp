// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job/balance/work_estimate.hpp"

#include <tessera/version.hpp>

#include <algorithm>

namespace TESSERA_NAMESPACE {

/// Decides, equally on every rank, when a balancer looks for a better plan, and which gain justifies it.
///
/// A balancer compares its plan with a better one after every `BalancerOptions::iterations` iterations. Until
/// such a comparison has kept the plan, the balancer also compares after each iteration in between (for the
/// first plan, from its second iteration on): while speeds are unknown, gains are large, and waiting costs
/// more than noise.
class ReplanSchedule {
 public:
  /// Arguments as in `BalancerOptions`.
  ReplanSchedule(int iterations, double gain) : iterations_(iterations), gain_(gain) {}

  /// Call after the plan was replaced.
  void begin_next() {
    measured_ = 0;
    settled_ = false;
    first_ = false;
  }
  /// Counts a measured iteration. True if a better plan is to be sought.
  [[nodiscard]] bool take_iteration() {
    ++measured_;
    // The first iteration of the first plan includes the start of the devices.
    return is_full() || (!settled_ && measured_ >= (first_ ? 2 : 1));
  }
  /// Number of iterations in the current measurement.
  [[nodiscard]] int measured() const { return measured_; }

  [[nodiscard]] bool replaces(const BalancedPlan& better) {
    // Times of a single iteration are noisy: a new plan then needs more gain, and less if it cannot be worse.
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
  int measured_ = 0;  ///< iterations since the last change of plan or full measurement
  bool settled_ = false;
  bool first_ = true;
};

}  // namespace TESSERA_NAMESPACE
