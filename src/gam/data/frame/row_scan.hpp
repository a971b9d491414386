// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/partition/plan.hpp>

#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

class FramePart;

/// One reading of a source's rows, for the columns of a plan. Rows are counted from the source's first.
class RowScan {
 public:
  RowScan() = default;
  virtual ~RowScan() = default;
  RowScan(const RowScan&) = delete;
  RowScan& operator=(const RowScan&) = delete;

  /// Cuts rows into consecutive runs, which the threads of a team read independently.
  [[nodiscard]] virtual std::vector<Range> runs(Range rows) = 0;
  /// Whether the calling thread must read all runs, in order.
  [[nodiscard]] virtual bool in_order() const { return false; }
  /// Called on the calling thread before some consecutive runs are read: opens what they need. May throw, to
  /// end the reading.
  virtual void prepare(std::span<const Range> runs) = 0;
  /// Passes the values of a run to the part, and ends its rows. Throws `Error(input)` for values that cannot
  /// be read. Columns of the plan that the source lacks are left to the caller.
  virtual void read(int thread, Range run, FramePart& part) = 0;
};

}  // namespace TESSERA_NAMESPACE::gam
