// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/isotropic.hpp"
#include "gam/basis/parts.hpp"
#include "gam/basis/points_of.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <optional>

namespace TESSERA_NAMESPACE::gam {

/// bs="gp": a Gaussian process smooth (kriging). m[0] is the kind of the correlation function, 1 to 5
/// (`kinds`; negative: no linear trend). m[1] is its range, by default the largest distance between points,
/// and m[2] the power for kind 2.
struct Gp {
  static constexpr char name[] = "gp";
  static constexpr bool random_effect = false;
  static constexpr bool several = true;

  static std::optional<OptionFault> settle(BasisOptions& options) {
    ignore_orders(options, 3, name);
    const double kind = order_or(options, 0, 3);
    const double range = order_or(options, 1, -1);
    const double power = order_or(options, 2, 1);
    if (kind != std::floor(kind) || std::abs(kind) < 1 || std::abs(kind) > kinds.size() ||
        !(power > 0 && power <= 2))
      return OptionFault{"m",
                         "m: bs=\"gp\" takes up to three numbers: the kind of correlation, 1 to 5 or -1 to "
                         "-5, its range, and a power above 0 and at most 2"};
    options.m = {kind, range > 0 ? range : 0, power};
    return settle_points(options, options.variables + 1, 10, 30, name);
  }
  static BasisSize size(const BasisOptions& options) {
    return radial_size(options, is_stationary(options) ? 1 : 1 + options.variables);
  }

  static Basis make(const MarginData& data) {
    const BasisPoints points = points_of(data);
    RadialFunction function{kinds[static_cast<std::size_t>(std::abs(data.m[0])) - 1]};
    function.scale = data.m[1] > 0 ? 1 / data.m[1] : 0;
    function.exponent = data.m[2];
    return gaussian_process(*data.team, points.values, points.points, points.means, function,
                            is_stationary(data), data.k);
  }

 private:
  static constexpr std::array kinds{RadialKind::spherical, RadialKind::exponential, RadialKind::matern_3,
                                    RadialKind::matern_5, RadialKind::matern_7};
  static bool is_stationary(const BasisOptions& options) { return options.m[0] < 0; }
};

}  // namespace TESSERA_NAMESPACE::gam
