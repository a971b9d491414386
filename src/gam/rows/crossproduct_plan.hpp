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
  std::vector<bool> forms;  ///< for each product of the layout: it is formed on matrix units
  /// Where the values of a term that other products read begin, as in TermTable; -1: not read.
  std::vector<std::int64_t> value_begins;
  std::int64_t values_per_row = 0;  ///< number of those values
};

/// Divides a model's products between matrix units and other kernels, and assigns the former to warps.
/// Depends only on the layout. Empty if the matrix units would form next to nothing.
///
/// Terms of a single spline with few columns take part, in pairs and each with itself; so do terms of a
/// single column, and the residual, with each of them. A pair is an edge of the complete graph; two edges
/// that share a term, the centre, are one task, so that its rows are sorted by one term only and a matrix of
/// sixteen rows is full.
class CrossPlan {
 public:
  explicit CrossPlan(const RowLayout& layout);

  [[nodiscard]] bool empty() const noexcept { return sums.groups.empty(); }
  /// Whether a device has matrix units for doubles with 16 rows, and shared memory; kernels test the same.
  [[nodiscard]] bool runs_on(ComputeCapability capability) const noexcept {
    return !empty() && (capability.major == 9 || capability.major == 10);
  }

  CrossShape shape;
  bool all_uniform = false;  ///< all margins of the participating terms are uniform
  bool none_cyclic = false;
  /// The cubics of a cell, by powers as in Margin, if all cells of all participating terms have the same, as
  /// with P-splines: constants of the kernel then.
  std::optional<std::array<double, 16>> cubics;
  std::vector<int> dense_terms;  ///< indices of the layout's terms, without the residual, the last column
  CrossShare sums;               ///< work of a start or a step
  CrossShare moments;
};

/// Bytes of the kernel's shared memory.
[[nodiscard]] std::size_t cross_shared_bytes(const CrossShape& shape);

}  // namespace TESSERA_NAMESPACE::gam
