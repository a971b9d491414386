// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/fit/coordinates/change.hpp"
#include "gam/rows/row_pass.hpp"

#include <tessera/job/job.hpp>
#include <tessera/partition/plan.hpp>

#include <optional>
#include <vector>

/// Smooths of variables with outliers, such as 9999 among numbers from 0 to 1. Nearly all rows are then
/// between two knots, where the columns of a spline are nearly dependent and their crossproduct is
/// numerically singular. A QR of the columns, as in R's gam, is not affected.
///
/// In the coordinates of this QR, rotated to make a single penalty diagonal (Demmler and Reinsch,
/// "Oscillation matrices with spline smoothing", Numer. Math. 24, 1975), the columns are orthogonal and their
/// crossproduct has all digits. They are dense combinations of the sparse columns, evaluated on the CPU.
namespace TESSERA_NAMESPACE::gam {

/// *Collective.* A sketch of the columns of the smooths whose variable has outliers. Most models have no such
/// smooth; the cost is then a scan of a sample of the rows.
class CrowdedSmooths {
 public:
  /// Cost if there is such a smooth: a pass over the rows, and a sketch on the CPU.
  CrowdedSmooths(Job& job, const Plan& plan, const Rows& rows);

  /// *Collective.* The design with new coordinates for the smooths whose columns are nearly dependent; empty
  /// if there is no such smooth. `design` has the raw columns of the sketched design, and possibly more after
  /// them. Throws `Error(not_converged)`, naming the variable, if rounding hides the unpenalised columns of a
  /// smooth.
  [[nodiscard]] std::optional<ChangedDesign> with_orthogonal_columns(const Design& design) const;

 private:
  struct Columns {
    int raw_begin = 0;
    Matrix sketch;  ///< sketch of the raw columns, on rank 0
  };
  Job& job_;
  const Rows& rows_;
  std::vector<Columns> smooths_;
};

}  // namespace TESSERA_NAMESPACE::gam
