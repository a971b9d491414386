// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/crossproduct.hpp"
#include "gam/rows/layout.hpp"

#include <tessera/topology/device_info.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Work of the tensor cores in passes of one kind.
struct CrossShare {
  std::vector<CrossTerm> terms;  ///< by group
  std::vector<CrossTask> tasks;  ///< `CrossShape::warps` for each group
  std::vector<CrossGroup> groups;
  std::vector<bool> forms;  ///< by product of the layout: formed on tensor cores
};

/// Divides a model's products between tensor cores and other kernels, and assigns the former to warps.
/// Depends only on the layout. Empty if the layout does not suit tensor cores.
///
/// Tensor cores take terms that are a single spline with few columns. They form products of pairs of these
/// terms, of each with itself, with single-column terms, and with the residual. Each task has two pairs that
/// share a term, the centre: rows need one sort, and tiles are full.
class CrossPlan {
 public:
  explicit CrossPlan(const RowLayout& layout);

  [[nodiscard]] bool empty() const noexcept { return sums.groups.empty(); }
  /// True if not empty and the device has `mma.m16n8k4.f64` and enough shared memory: see crossproduct.cuh.
  [[nodiscard]] bool runs_on(ComputeCapability capability) const noexcept {
    return !empty() && (capability.major == 9 || capability.major == 10);
  }

  [[nodiscard]] const CrossShare& share(PassKind kind) const noexcept {
    return kind == PassKind::moments ? moments : sums;
  }

  CrossShape shape;
  int quads = 1;  ///< maximum number of quads of a chosen term
  /// The cubics of a cell, in the order of Margin, if they are equal in all cells of all chosen terms and all
  /// margins are uniform and not cyclic (P-splines). Such terms have specialised kernels.
  std::optional<std::array<double, 16>> cubics;
  std::vector<int> dense_terms;  ///< layout indices of dense terms, without the residual
  CrossShare sums;               ///< for all passes but moments
  CrossShare moments;
};

/// Bytes of the kernel's dynamic shared memory.
[[nodiscard]] std::size_t cross_shared_bytes(const CrossShape& shape, const CrossTiling& tiling);

}  // namespace TESSERA_NAMESPACE::gam
