// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/crossproduct.hpp"
#include "gam/rows/layout.hpp"

#include <tessera/topology/device_info.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera::gam {

class CrossProducts;

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

  [[nodiscard]] bool empty() const noexcept { return groups.empty(); }
  /// Matrix units for doubles with sixteen rows, and shared memory enough. The kernels' text asks the same.
  [[nodiscard]] bool runs_on(ComputeCapability capability) const noexcept {
    return !empty() && (capability.major == 9 || capability.major == 10);
  }

  CrossShape shape;
  std::vector<CrossTerm> terms;  ///< by group
  std::vector<CrossTask> tasks;  ///< by group, `shape.warps` of each
  std::vector<CrossGroup> groups;
  std::vector<int> dense_terms;  ///< of the layout, without the residual, whose column is the last
  std::vector<bool> forms;       ///< by product of the layout: it is formed here
  /// Where the values of a term begin that the other products of a step read, as in TermTable; -1: none does.
  std::vector<std::int64_t> value_begins;
  std::int64_t values_per_row = 0;  ///< of those

 private:
  void choose_terms(const RowLayout& layout);
  void make_tasks(const RowLayout& layout);
  void add_tasks(const RowLayout& layout, const CrossProducts& products, int centre,
                 std::span<const int> leaves);
  void make_groups(const RowLayout& layout);
  void choose_rows();
  void keep_values(const RowLayout& layout);

  std::vector<CrossTerm> all_terms_;
  std::vector<int> term_indices_;  ///< of those, in the layout
  std::vector<CrossTask> all_tasks_;
};

/// Bytes of the kernel's shared memory.
[[nodiscard]] std::size_t cross_shared_bytes(const CrossShape& shape);

}  // namespace tessera::gam
