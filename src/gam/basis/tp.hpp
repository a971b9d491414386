// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/parts.hpp"
#include "gam/basis/thin_plate.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace tessera::gam {

/// bs="tp": a thin plate regression spline.
struct Tp {
  static constexpr char name[] = "tp";
  static constexpr bool random_effect = false;
  static constexpr bool has_orders = true;
  static constexpr bool has_margins = false;
  static int least_k(std::array<int, 2> /*order*/) { return 3; }
  static BasisSize size(int k) { return {.coefficients = k, .dense = dense_columns(k)}; }

  static Basis make(const MarginData& data) {
    data.require_distinct(data.k);
    data.require_no_knots();
    const std::vector<double> values = data.setup_values();
    const std::vector<double> points = thin_plate_points(values);
    data.require_distinct(data.k, static_cast<std::int64_t>(points.size()));
    return thin_plate_basis(values, points, data.k);
  }
};

}  // namespace tessera::gam
