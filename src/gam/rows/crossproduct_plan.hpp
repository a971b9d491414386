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

/// Work of the matrix units in a pass of one kind.
struct CrossShare {
  std::vector<CrossTerm> terms;  ///< terms of each group
  std::vector<CrossTask> tasks;  ///< tasks of each group, `CrossShape::warps` per group
  std::vector<CrossGroup> groups;
  std::vector<bool> forms;  ///< for each product of the layout, whether matrix units form it
};

/// Divides a model's products between matrix units and other kernels, and assigns those of the matrix units
/// to warps. Depends only on the layout. Empty if there are almost no products for matrix units.
///
/// Matrix units form the products of terms that are a single spline with few columns: in pairs, of each with
/// itself, and of each with terms of a single column and with the residual. A pair is an edge of the complete
/// graph. Two edges that share a term, the centre, are one task: rows are sorted by one term only, and the
/// tiles of 16 rows are full.
class CrossPlan {
 public:
  explicit CrossPlan(const RowLayout& layout);

  [[nodiscard]] bool empty() const noexcept { return sums.groups.empty(); }
  /// Whether a device has matrix units for doubles in tiles of 16 rows, and enough shared memory. Kernels
  /// test the same.
  [[nodiscard]] bool runs_on(ComputeCapability capability) const noexcept {
    return !empty() && (capability.major == 9 || capability.major == 10);
  }

  [[nodiscard]] const CrossShare& share(PassKind kind) const noexcept {
    return kind == PassKind::moments ? moments : sums;
  }

  CrossShape shape;
  int quads = 1;  ///< maximum number of quads of a chosen term
  /// The cubics of a cell, ordered like those of Margin, if they are the same in all cells of all chosen
  /// terms, and no margin is uneven or cyclic, as for P-splines. These have kernels of their own.
  std::optional<std::array<double, 16>> cubics;
  std::vector<int> dense_terms;  ///< indices of the layout's dense terms without the last, the residual
  CrossShare sums;               ///< work of a start or a step
  CrossShare moments;
};

/// Bytes of shared memory of the kernel.
[[nodiscard]] std::size_t cross_shared_bytes(const CrossShape& shape, const CrossTiling& tiling);

}  // namespace TESSERA_NAMESPACE::gam
