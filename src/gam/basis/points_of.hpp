// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/isotropic.hpp"
#include "gam/basis/parts.hpp"
#include "gam/basis/thin_plate.hpp"

#include <optional>
#include <string_view>
#include <vector>

/// What bases of functions of the distance to points have in common.
namespace tessera::gam {

/// The k that mgcv has: 10, 30 or 100 more than there are polynomials, by the number of variables.
[[nodiscard]] inline std::optional<OptionFault> settle_points(BasisOptions& options, int free, int of_one,
                                                              int of_two, std::string_view basis) {
  constexpr int of_more = 100;
  const int more = options.variables == 1 ? of_one : options.variables == 2 ? of_two : of_more;
  return settle_k(options, free + more, free + 1, basis);
}

[[nodiscard]] inline BasisSize radial_size(const BasisOptions& options) {
  return {.coefficients = options.k, .dense = dense_columns(options.k), .radial = true};
}

/// The values from which a basis is made, its points, and the means of the values.
struct BasisPoints {
  Matrix values, points;
  std::vector<double> means;
};

/// *Collective.* mgcv draws points from the values themselves.
[[nodiscard]] inline BasisPoints points_of(const MarginData& data) {
  data.require_no_knots();
  if (data.variables == 1) data.require_distinct(data.k);
  BasisPoints out;
  out.values = data.setup_values();
  out.means = means_of(out.values);
  out.points =
      distinct_points(out.values, std::vector<double>(out.means.size()), data.most_points, data.seed);
  data.require_distinct(data.k, out.points.rows());
  return out;
}

}  // namespace tessera::gam
