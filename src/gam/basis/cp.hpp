// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/bspline.hpp"
#include "gam/basis/parts.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Cyclic P-spline on K + 1 increasing knots: the last knot is the first one plus the period. The penalty is
/// on cyclic differences of order `order`.
[[nodiscard]] inline Basis cp_basis(std::span<const double> knots, int order, bool uniform, int degree = 3) {
  const int size = static_cast<int>(knots.size()) - 1;
  const double period = knots.back() - knots.front();
  std::vector<double> all(knots.begin(), knots.end());
  all.insert(all.begin(), knots.end() - degree - 1, knots.end() - 1);
  const auto ends = static_cast<std::size_t>(degree);
  for (std::size_t i = 0; i < ends; ++i) all[i] -= period;
  for (std::size_t i = 1; i <= ends; ++i) all.push_back(knots[i] + period);

  Basis basis = bspline_basis(bspline_margin(all, uniform, degree), knots, size, size + degree);
  basis.component.margin.cyclic = true;
  basis.penalty = difference_penalty(size, order, true);
  basis.rank = size - 1;
  return basis;
}

struct Cp {
  static constexpr char name[] = "cp";
  static constexpr bool random_effect = false;
  static constexpr bool several = false;
  static std::optional<OptionFault> settle(BasisOptions& options) {
    if (auto fault = settle_differences(options, 1, name)) return fault;
    return set_default_k(options, 10, static_cast<int>(std::max(options.m[0], options.m[1])) + 1, name);
  }
  static BasisSize size(const BasisOptions& options) {
    return {.cells = options.k, .stride = 1, .coefficients = options.k, .free = 1};
  }

  static Basis make(const MarginData& data) {
    data.require_distinct(data.k);
    if (data.supplied.empty() || data.has_limits()) {
      const auto [low, high] = data.limits();
      return cp_basis(sequence(low, high, data.k + 1), static_cast<int>(data.m[1]), true,
                      spline_degree(data));
    }
    data.require_knots(data.k + 1, true);
    data.require_covered(data.supplied.front(), data.supplied.back());
    return cp_basis(data.supplied, static_cast<int>(data.m[1]), false, spline_degree(data));
  }
};

}  // namespace TESSERA_NAMESPACE::gam
