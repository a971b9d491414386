// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <array>
#include <cmath>

/// Constants and tests shared by the searches of `ResponseFitter` and `GaussianSpectrum`.
namespace TESSERA_NAMESPACE::gam {

/// Range of a log smoothing parameter around its initial value.
inline constexpr double range_below = 20;
inline constexpr double range_above = 24;
/// Tests replace an infinite log smoothing parameter by its initial value plus this; mgcv's gam goes as far.
inline constexpr double range_of_tests = 20;

inline constexpr int most_iterations = 60;
inline constexpr int most_halvings = 25;
inline constexpr double longest_step = 4;
/// Relative differences of the criterion up to this size are rounding.
inline constexpr double criterion_rounding = 1e-12;
/// If no step lowers the criterion, slopes below this size count as zero.
inline constexpr double negligible_slope = 1e-6;

/// Whether a criterion looks like V + c e^-x, c > 0, so that its slope is minus its curvature. False if the
/// slope is steeper than `largest_slope`. If true, `largest_slope` becomes a quarter of the slope: a limit
/// that the caller rejects is tried again only if the criterion is that much flatter.
[[nodiscard]] inline bool may_fall_to_limit(double slope, double curvature, double& largest_slope) {
  constexpr double share = 0.12;
  constexpr double smaller = 0.25;
  if (!(slope < 0 && -slope < largest_slope) || !(std::abs(slope + curvature) < share * curvature))
    return false;
  largest_slope = -slope * smaller;
  return true;
}
/// Initial `largest_slope`.
inline constexpr double first_slope_of_limit = 0.6;
[[nodiscard]] inline bool falls_by(double fall, double expected) {
  constexpr double share = 0.25;
  constexpr double rounding = 1e-7;
  return std::abs(fall - expected) < share * expected + rounding;
}

/// Distances from the initial value at which the search looks for a minimum lower by `limit_rounding`.
inline constexpr std::array values_around_start = {6.0,  5.0,  4.0,  3.0,  2.0,  1.0, 0.0,
                                                   -1.0, -2.0, -3.0, -4.0, -5.0, -6.0};
inline constexpr double limit_rounding = 1e-6;

}  // namespace TESSERA_NAMESPACE::gam
