// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/job.hpp>
#include <tessera/partition/plan.hpp>

#include <algorithm>

namespace TESSERA_NAMESPACE::gam {

/// True if a pass over `plan` starts on devices for which kernels must be compiled.
[[nodiscard]] inline bool begins_on_real_devices(const Job& job, const Plan& plan) {
  return plan.on_devices() && !job.on_host() &&
         std::ranges::any_of(job.inventory().devices(),
                             [](const InventoryDevice& device) { return !device.has_host_memory(); });
}

}  // namespace TESSERA_NAMESPACE::gam
