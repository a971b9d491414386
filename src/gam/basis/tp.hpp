// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/isotropic.hpp"
#include "gam/basis/parts.hpp"
#include "gam/basis/points_of.hpp"
#include "gam/basis/thin_plate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// bs="tp": a thin plate regression spline of any number of variables. With one variable and a penalty on
/// second derivatives, it is a piecewise cubic.
struct Tp {
  static constexpr char name[] = "tp";
  static constexpr bool random_effect = false;
  static constexpr bool several = true;

  static std::optional<OptionFault> settle(BasisOptions& options) { return settle_as(options, name); }
  static BasisSize size(const BasisOptions& options) {
    const bool whole = !is_without_null_space(options);
    return {.coefficients = whole ? options.k : options.k - free_of(options),
            .free = whole ? free_of(options) : 0,
            .dense = dense_columns(options.k),
            .radial = !is_cubic(options),
            .centred = !whole};
  }

  static Basis make(const MarginData& data) {
    if (data.variables == 1) data.require_distinct(data.k);
    const Matrix values = data.setup_values();
    const std::vector<double> means = means_of(values);
    const Matrix points = points_for(data, values, means);
    if (!is_cubic(data)) {
      Basis basis = isotropic_thin_plate(*data.team, values, points, means, order_of(data), data.k);
      return is_without_null_space(data) ? without_null_space(std::move(basis), values) : basis;
    }
    std::vector<double> sorted(points.values().begin(), points.values().end());
    std::ranges::sort(sorted);
    Basis basis = thin_plate_basis(*data.team, values.values(), sorted, data.k);
    return is_without_null_space(data) ? without_null_space(std::move(basis), values) : basis;
  }

 protected:
  static int order_of(const BasisOptions& options) { return static_cast<int>(options.m[0]); }
  static int free_of(const BasisOptions& options) {
    return static_cast<int>(polynomials_below(order_of(options), options.variables).size());
  }
  static bool is_without_null_space(const BasisOptions& options) { return options.m.size() > 1; }
  static bool is_cubic(const BasisOptions& options) {
    return options.variables == 1 && order_of(options) == 2;
  }
  /// The default order is the smallest one with which the spline has continuous derivatives.
  static std::optional<OptionFault> settle_as(BasisOptions& options, std::string_view basis) {
    constexpr int most = 10;
    const int dimensions = options.variables;
    const bool whole = options.m.size() < 2 || order_or(options, 1, 0) != 0;
    ignore_orders(options, whole ? 1 : 2, basis);
    if (!whole && basis != name)
      return OptionFault{"m",
                         fmt::format("m: bs=\"{}\" takes one number, the order of its derivatives", basis)};
    double order = order_or(options, 0, 0);
    if (2 * order <= dimensions) {
      const double usual = (dimensions + 3) / 2;
      if (order != 0)
        options.ignored.push_back(fmt::format(
            "m={} has no effect: bs=\"{}\" of {} variable{} needs an order above {}/2, and uses the order {}",
            order, basis, dimensions, dimensions == 1 ? "" : "s", dimensions, usual));
      order = usual;
    }
    if (order != std::floor(order) || order > most)
      return OptionFault{"m", fmt::format("m={}: bs=\"{}\" of {} variable{} takes a whole number above {}/2",
                                          order, basis, dimensions, dimensions == 1 ? "" : "s", dimensions)};
    if (options.m.empty()) options.m.push_back(order);
    options.m[0] = order;
    return settle_points(options, free_of(options), 8, 27, basis);
  }
};

}  // namespace TESSERA_NAMESPACE::gam
