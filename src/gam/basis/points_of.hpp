// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/isotropic.hpp"
#include "gam/basis/parts.hpp"
#include "gam/basis/thin_plate.hpp"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Sets mgcv's default k: the number `free` of polynomials, plus `of_one` for one variable, `of_two` for two,
/// and 100 for more variables.
[[nodiscard]] inline std::optional<OptionFault> settle_points(BasisOptions& options, int free, int of_one,
                                                              int of_two, std::string_view basis) {
  constexpr int of_more = 100;
  const int more = options.variables == 1 ? of_one : options.variables == 2 ? of_two : of_more;
  return set_default_k(options, free + more, free + 1, basis);
}

[[nodiscard]] inline BasisSize radial_size(const BasisOptions& options, int free) {
  return {.coefficients = options.k, .free = free, .dense = dense_columns(options.k), .radial = true};
}

/// *Collective.* The supplied points, or else distinct values: see `distinct_points`.
[[nodiscard]] inline Matrix points_for(const MarginData& data, const Matrix& values,
                                       std::span<const double> means) {
  if (data.supplied_points.rows() > 0) return data.supplied_points;
  Matrix points = distinct_points(values, means, data.most_points, data.seed);
  data.require_distinct(data.k, points.rows());
  return points;
}

/// The points of a basis, and the values of the setup sample with their means.
struct BasisPoints {
  Matrix values, points;
  std::vector<double> means;
};

/// *Collective.* For bases other than bs="tp": as in mgcv, points are compared without subtracting means.
[[nodiscard]] inline BasisPoints points_of(const MarginData& data) {
  if (data.variables == 1) data.require_distinct(data.k);
  BasisPoints out;
  out.values = data.setup_values();
  out.means = means_of(out.values);
  out.points = points_for(data, out.values, std::vector<double>(out.means.size()));
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam
