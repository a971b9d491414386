// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "partition/block_weights.hpp"

#include <tessera/partition/plan.hpp>
#include <tessera/version.hpp>

#include <utility>

namespace TESSERA_NAMESPACE::detail {

struct RemainingDevices;

/// Access to private factory functions of `Plan`, which make plans from `BlockWeights` (tiles may be ordered
/// by numbers other than the scores) and from other plans.
struct PlanAccess {
  template <class... With>
  [[nodiscard]] static Plan over_devices(With&&... with) {
    return Plan::over_devices(std::forward<With>(with)...);
  }
  template <class... With>
  [[nodiscard]] static Plan over_hosts(With&&... with) {
    return Plan::over_hosts(std::forward<With>(with)...);
  }
  /// See replan.hpp.
  [[nodiscard]] static Plan recut(const Plan& plan, const RemainingDevices& devices);
  [[nodiscard]] static Plan replanned(const Plan& plan, const RemainingDevices& devices);
};

}  // namespace TESSERA_NAMESPACE::detail
