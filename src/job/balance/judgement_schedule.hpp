// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job/balance/work_estimate.hpp"

#include <tessera/version.hpp>

#include <algorithm>

namespace TESSERA_NAMESPACE {

/// Decides when a plan is judged, and for which gain it is replaced. The same on every rank.
///
/// A plan is judged every `BalancerOptions::iterations`. Until a plan has been kept then, plans are also
/// judged earlier: while speeds are unknown, gains are large, and waiting costs more than noise.
class JudgementSchedule {
 public:
  /// Arguments as in `BalancerOptions`.
  JudgementSchedule(int iterations, double gain) : iterations_(iterations), gain_(gain) {}

  /// Starts the measurement of another plan.
  void begin_next() {
    measured_ = 0;
    settled_ = false;
    first_ = false;
  }
  /// Counts a measured iteration. True if the plan is due for judgement.
  [[nodiscard]] bool take_iteration() {
    ++measured_;
    // The first iteration of all includes the start of the devices.
    return is_full() || (!settled_ && measured_ >= (first_ ? 2 : 1));
  }
  /// Number of iterations that count; 0 if the measurements start again.
  [[nodiscard]] int measured() const { return measured_; }

  /// Decides after a judgement whether to replace the plan.
  [[nodiscard]] bool leaves(const BalancedPlan& better) {
    // After one iteration times may be far off. A small gain suffices only if the new plan cannot be worse.
    const double weight = measured_ < std::min(iterations_, 2) ? 3 : better.certain ? 1 : 1.5;
    const bool leaves = better.gain > 1 && better.gain >= 1 + weight * (gain_ - 1);
    if (is_full()) {
      settled_ = !leaves;
      measured_ = 0;
    }
    return leaves;
  }

 private:
  [[nodiscard]] bool is_full() const { return measured_ >= iterations_; }

  int iterations_;
  double gain_;
  int measured_ = 0;  ///< iterations since the plan began or was last judged by all iterations
  bool settled_ = false;
  bool first_ = true;
};

}  // namespace TESSERA_NAMESPACE
