// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/bspline.hpp"
#include "gam/basis/parts.hpp"
#include "gam/linalg/linalg.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

namespace tessera::gam {

/// The K + 4 knots of a P-spline: equally spaced over [low, high] widened by a thousandth of it each side.
[[nodiscard]] inline std::vector<double> ps_knots(int k, double low, double high) {
  const double margin = (high - low) * 0.001;
  const double first = low - margin;
  const double last = high + margin;
  const double step = (last - first) / (k - 3);
  return sequence(first - step * 3, last + step * 3, k + 4);
}

/// Cubic B-splines on K + 4 increasing knots with the squared differences of order 1 to 3 of neighbouring
/// coefficients as penalty. `uniform` asserts that the knots are equally spaced.
/// Source: Eilers and Marx, Statistical Science 11 (1996).
[[nodiscard]] inline Basis ps_basis(std::span<const double> knots, int order, bool uniform) {
  Basis basis;
  const int size = static_cast<int>(knots.size()) - 4;
  basis.component.kind = Component::Kind::spline;
  basis.component.margin = bspline_margin(knots, uniform);
  basis.map = identity(size);
  basis.penalty = difference_penalty(size, order, false);
  basis.rank = size - order;
  basis.knots.assign(knots.begin(), knots.end());
  basis.unit_rows = true;
  return basis;
}

/// bs="ps": a P-spline.
struct Ps {
  static constexpr char name[] = "ps";
  static constexpr bool random_effect = false;
  static constexpr bool several = false;
  static std::optional<OptionFault> settle(BasisOptions& options) {
    if (auto fault = settle_differences(options)) return fault;
    return settle_k(options, 10, static_cast<int>(std::max(options.m[0] + 2, options.m[1] + 1)), name);
  }
  static BasisSize size(const BasisOptions& options) {
    return {.cells = options.k - 3, .stride = 1, .coefficients = options.k};
  }

  static Basis make(const MarginData& data) {
    data.require_distinct(data.k);
    if (data.supplied.empty() || data.has_limits()) {
      const auto [low, high] = data.limits();
      return ps_basis(ps_knots(data.k, low, high), static_cast<int>(data.m[1]), true);
    }
    data.require_knots(data.k + 4, true);
    // Three knots beyond each end shape the first and last B-splines; no data may lie there.
    data.require_covered(data.supplied[3], data.supplied[data.supplied.size() - 4]);
    return ps_basis(data.supplied, static_cast<int>(data.m[1]), false);
  }
};

}  // namespace tessera::gam
