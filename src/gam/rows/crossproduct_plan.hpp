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

/// What the matrix units do in a pass of one kind.
struct CrossShare {
  std::vector<CrossTerm> terms;  ///< by group
  std::vector<CrossTask> tasks;  ///< by group, `CrossShape::warps` of each
  std::vector<CrossGroup> groups;
  std::vector<bool> forms;  ///< by product of the layout: it is formed here
  /// Where the values of a term begin that the other products read, as in TermTable; -1: none does.
  std::vector<std::int64_t> value_begins;
  std::int64_t values_per_row = 0;  ///< of those
};

/// Which of a model's products the matrix units form, and the share of each warp. It depends on the layout
/// alone. Empty where they would form next to nothing.
///
/// Terms of a single spline with few columns take part, each pair of two and each with itself; so do terms of
/// a single column, and the residual, with each of them. A pair is an edge of the complete graph; two edges
/// that meet in a term, the centre, are one task, so that its rows need be sorted by one term and a matrix
/// of sixteen rows is full.
class CrossPlan {
 public:
  explicit CrossPlan(const RowLayout& layout);

  [[nodiscard]] bool empty() const noexcept { return sums.groups.empty(); }
  /// Matrix units for doubles with sixteen rows, and shared memory enough. The kernels' text asks the same.
  [[nodiscard]] bool runs_on(ComputeCapability capability) const noexcept {
    return !empty() && (capability.major == 9 || capability.major == 10);
  }

  CrossShape shape;
  bool all_uniform = false;  ///< the margins of the terms that take part
  bool none_cyclic = false;
  /// The cubics of every cell of every term that takes part, as a cell of Margin by powers, if they all have
  /// the same: P-splines do. The kernel has them as constants then.
  std::optional<std::array<double, 16>> cubics;
  std::vector<int> dense_terms;  ///< of the layout, without the residual, whose column is the last
  CrossShare sums;               ///< of a start or a step
  CrossShare moments;
};

/// Bytes of the kernel's shared memory.
[[nodiscard]] std::size_t cross_shared_bytes(const CrossShape& shape);

}  // namespace TESSERA_NAMESPACE::gam
