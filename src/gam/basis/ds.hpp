// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/isotropic.hpp"
#include "gam/basis/parts.hpp"
#include "gam/basis/points_of.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>

namespace TESSERA_NAMESPACE::gam {

/// bs="ds": a Duchon spline; m[0] is the order of the derivatives, and m[1] the power of the frequency that
/// weights their spectrum.
struct Ds {
  static constexpr char name[] = "ds";
  static constexpr bool random_effect = false;
  static constexpr bool several = true;

  static std::optional<OptionFault> settle(BasisOptions& options) {
    constexpr int most = 10;
    ignore_orders(options, 2, name);
    const double half = options.variables / 2.0;
    const double order = order_or(options, 0, 2);
    const double s = order_or(options, 1, 0);
    if (order != std::floor(order) || order < 1 || order > most || 2 * s != std::floor(2 * s) ||
        std::abs(s) >= half || order + s <= half)
      return OptionFault{
          "m", fmt::format("m: bs=\"ds\" of {} variable{} takes m[1], a whole number from 1 to {}, and m[2], "
                           "a multiple of 1/2 between -{} and {}: their sum must be above {}",
                           options.variables, options.variables == 1 ? "" : "s", most, half, half, half)};
    options.m = {order, s};
    return settle_points(options, free_of(options), 10, 30, name);
  }
  static BasisSize size(const BasisOptions& options) { return radial_size(options, free_of(options)); }

  static Basis make(const MarginData& data) {
    const BasisPoints points = points_of(data);
    const int power = static_cast<int>(2 * data.m[0] + 2 * data.m[1]) - data.variables;
    return duchon_spline(*data.team, points.values, points.points, points.means, order_of(data), power,
                         data.k);
  }

 private:
  static int order_of(const BasisOptions& options) { return static_cast<int>(options.m[0]); }
  static int free_of(const BasisOptions& options) {
    return static_cast<int>(polynomials_below(order_of(options), options.variables).size());
  }
};

}  // namespace TESSERA_NAMESPACE::gam
