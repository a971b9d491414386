// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/bspline.hpp"
#include "gam/basis/parts.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Equally spaced knots of k B-splines that sum to one over [low, high], widened on each side by a thousandth
/// of its length. `degree` knots lie beyond each end.
[[nodiscard]] inline std::vector<double> ps_knots(int k, double low, double high, int degree = 3) {
  const double margin = (high - low) * 0.001;
  const double first = low - margin;
  const double last = high + margin;
  const double step = (last - first) / (k - degree);
  return sequence(first - step * degree, last + step * degree, k + degree + 1);
}

/// P-spline (bs="ps") on increasing knots. The penalty is on squared differences, of order 0 to 3, of
/// neighbouring coefficients. `uniform` asserts that the knots are equally spaced. Source: Eilers and Marx,
/// Statistical Science 11 (1996).
[[nodiscard]] inline Basis ps_basis(std::span<const double> knots, int order, bool uniform, int degree = 3) {
  const int size = static_cast<int>(knots.size()) - degree - 1;
  Basis basis = bspline_basis(bspline_margin(knots, uniform, degree), knots, size, size);
  basis.penalty = difference_penalty(size, order, false);
  basis.rank = size - order;
  return basis;
}

struct Ps {
  static constexpr char name[] = "ps";
  static constexpr bool random_effect = false;
  static constexpr bool several = false;
  static std::optional<OptionFault> settle(BasisOptions& options) {
    if (auto fault = settle_differences(options, 0, name)) return fault;
    return set_default_k(options, 10, static_cast<int>(std::max(options.m[0] + 2, options.m[1] + 1)), name);
  }
  static BasisSize size(const BasisOptions& options) {
    return {.cells = options.k - spline_degree(options),
            .stride = 1,
            .coefficients = options.k,
            .free = static_cast<int>(options.m[1])};
  }

  static Basis make(const MarginData& data) {
    data.require_distinct(data.k);
    const int degree = spline_degree(data);
    const int order = static_cast<int>(data.m[1]);
    if (data.supplied.empty() || data.has_limits()) {
      const auto [low, high] = data.limits();
      return ps_basis(ps_knots(data.k, low, high, degree), order, true, degree);
    }
    data.require_knots(data.k + degree + 1, true);
    // No data may lie in the `degree` outermost intervals on each side: the B-splines do not sum to one
    // there.
    const auto end = static_cast<std::size_t>(degree);
    data.require_covered(data.supplied[end], data.supplied[data.supplied.size() - 1 - end]);
    return ps_basis(data.supplied, order, false, degree);
  }
};

}  // namespace TESSERA_NAMESPACE::gam
