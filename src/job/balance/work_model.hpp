// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/partition/plan.hpp>
#include <tessera/version.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE {

/// A device's measurement under one plan.
struct MeasuredPart {
  Range units;
  std::size_t device = 0;
  double work = 0;  ///< seconds times the device's declared speed; above 0
};

/// The parts of a plan in the order of their units, which they cover.
using MeasuredPlan = std::vector<MeasuredPart>;

/// A run of units, each with the work `each`: seconds times speed.
struct WorkRun {
  Range units;
  double each = 0;
};

/// The work of units, and the speeds of devices.
struct WorkModel {
  std::vector<WorkRun> runs;    ///< over all units, in their order
  std::vector<double> factors;  ///< actual speed of each device relative to the declared one
};

/// The model that explains the times of `plans`, the oldest first, over the same units in blocks of `block`.
///
///     work of a part * factor of its device = sum of `each` over its units
///
/// One plan identifies only the products: a slow device looks like heavy units. Blocks that move to another
/// device separate the two. A prior decides the rest: the work of neighbouring units differs little, except
/// for a few jumps, while the factor of a device may be off by some ten times. So differences under the first
/// plan are attributed to the devices, and if that is wrong, the second plan shows it.
///
/// Returns the maximum of the posterior density: residuals of logarithms and the logarithms of factors are
/// normal, and the logarithms of `each` are a random walk with Cauchy steps. Iteratively reweighted
/// Gauss-Newton steps, solved by conjugate gradients (Nocedal and Wright, Numerical Optimization, 2006, 7.1
/// and 10.3). Cost: O(parts) for each of some hundred to some thousand multiplications.
///
/// The same bits on every rank: only floating-point operations that IEEE 754 defines exactly are used.
[[nodiscard]] WorkModel fit_work(std::span<const MeasuredPlan> plans, std::size_t devices,
                                 std::int64_t block);

}  // namespace TESSERA_NAMESPACE
