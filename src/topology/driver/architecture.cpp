// SPDX-License-Identifier: Apache-2.0
#include "topology/driver/architecture.hpp"

#include <algorithm>
#include <array>

namespace TESSERA_NAMESPACE::detail {

int cores_per_multiprocessor(ComputeCapability capability) noexcept {
  const bool narrow = capability.major == 7 || capability == ComputeCapability{8, 0};
  return narrow ? 64 : 128;
}

int fp64_lanes_per_multiprocessor(ComputeCapability capability) noexcept {
  if (capability == ComputeCapability{9, 0} || capability == ComputeCapability{10, 0}) return 64;
  if (capability == ComputeCapability{7, 0} || capability == ComputeCapability{8, 0}) return 32;
  return 2;
}

bool shares_host_memory(ComputeCapability capability) noexcept {
  constexpr std::array<ComputeCapability, 6> integrated{{{7, 2}, {8, 7}, {8, 8}, {10, 1}, {11, 0}, {12, 1}}};
  return std::find(integrated.begin(), integrated.end(), capability) != integrated.end();
}

std::string code_target(ComputeCapability capability, std::span<const int> known) {
  const int wanted = 10 * capability.major + capability.minor;
  int best = 0;
  for (const int target : known) {
    if (target <= wanted) best = std::max(best, target);
  }
  if (best == 0) return {};
  return (best / 10 == capability.major ? "sm_" : "compute_") + std::to_string(best);
}

}  // namespace TESSERA_NAMESPACE::detail
