// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/partition/plan.hpp>
#include <tessera/version.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE {

struct MeasuredPart {
  Range units;
  std::size_t device = 0;
  double work = 0;  ///< seconds times declared speed; positive
};

/// The parts of one plan, in the order of their units. The parts cover all units.
using MeasuredPlan = std::vector<MeasuredPart>;

/// Consecutive units of equal work: `each` is the work of one unit, in seconds times actual speed.
struct WorkRun {
  Range units;
  double each = 0;
};

struct WorkModel {
  std::vector<WorkRun> runs;    ///< cover all units, in order
  std::vector<double> factors;  ///< actual / declared speed, by device
};

/// Fits a model to the times of `plans`, oldest first, over the same units in blocks of `block`:
///
///     work of a part * factor of its device = sum of `each` over its units
///
/// One plan identifies only the products: a slow device looks like expensive units. Blocks that change
/// devices separate the two. The prior assumes that the work of neighbouring units differs little, except for
/// a few jumps, and that factors vary by about a factor of ten. Differences under the first plan are
/// therefore attributed to the devices; the second plan corrects that.
///
/// Maximum a posteriori estimate: residuals of logarithms and logarithms of factors are normal; logarithms of
/// `each` are a random walk with Cauchy steps. Iteratively reweighted Gauss-Newton method with conjugate
/// gradients (Nocedal and Wright, Numerical Optimization, 2006, 7.1 and 10.3). Cost: a hundred to some
/// thousand matrix-vector products of O(parts).
///
/// Results have the same bits on every rank, because all floating-point operations are exactly defined by
/// IEEE 754.
[[nodiscard]] WorkModel fit_work(std::span<const MeasuredPlan> plans, std::size_t devices,
                                 std::int64_t block);

}  // namespace TESSERA_NAMESPACE
