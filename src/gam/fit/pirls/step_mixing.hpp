// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/parted_matrix.hpp"

#include <cstddef>
#include <span>
#include <vector>

/// Where a step of performance iteration ends that does not settle by itself.
///
/// Performance iteration looks for coefficients b that are the solution F(b) of their own working model.
/// Taken whole, its steps F(b) - b may turn back and forth for ever between two points, or creep. Anderson
/// mixing ends a step where the last few steps, taken as linear in b, foresee the shortest next one. The
/// point that the iteration is after stays the same: there, no step is left.
///
/// Source: Anderson, Journal of the ACM 12 (1965); Walker and Ni, SIAM Journal on Numerical Analysis 49
/// (2011).
namespace tessera::gam {

/// A whole step and where it began.
struct PastStep {
  std::vector<double> coef;
  std::vector<double> step;

  friend bool operator==(const PastStep&, const PastStep&) = default;
};

/// Steps before this iteration are taken whole, as most fits have settled by then.
constexpr int first_mixed_iteration = 10;
/// The same where estimates may be infinite: such fits are found out first, by whole steps that go on for
/// ever.
constexpr int first_mixed_where_separable = 40;
/// So many past steps are mixed with the one at hand.
constexpr std::size_t max_past_steps = 4;

/// |s| with |s|^2 = s'X'WX s: the length of a step in the linear predictor.
[[nodiscard]] double length(const PartedMatrix& gram, std::span<const double> step);

/// Where `now` ends when mixed with `past`, the oldest first; half-way along it if there is none. Past steps
/// are left out if this one is much longer than the last: they foresaw something else.
[[nodiscard]] std::vector<double> mixed_end(const PartedMatrix& gram, const PastStep& now,
                                            std::span<const PastStep> past);

}  // namespace tessera::gam
