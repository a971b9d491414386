// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/bspline.hpp"
#include "gam/basis/parts.hpp"

#include <optional>

namespace TESSERA_NAMESPACE::gam {

/// bs="pl": straight pieces between k equally spaced knots, with squared differences of neighbours as
/// penalty.
struct Pl {
  static constexpr char name[] = "pl";
  static constexpr bool random_effect = false;
  static constexpr bool several = false;
  static std::optional<OptionFault> settle(BasisOptions& options) {
    ignore_orders(options, 0, name);
    return set_default_k(options, 10, 3, name);
  }
  static BasisSize size(const BasisOptions& options) {
    return {.cells = options.k - 1, .stride = 1, .coefficients = options.k};
  }

  static Basis make(const MarginData& data) {
    data.require_distinct(data.k);
    const auto [low, high] = data.limits();
    Basis basis;
    basis.knots = sequence(low, high, data.k);
    basis.component.kind = ComponentKind::spline;
    Margin& margin = basis.component.margin;
    margin.breaks = basis.knots;
    margin.uniform = true;
    margin.cells.assign(static_cast<std::size_t>(data.k) - 1, {1, -1, 0, 0, 0, 1});
    // Two of a cell's four raw columns are zero.
    basis.map = Matrix(margin.raw_size(), data.k);
    for (int i = 0; i < data.k; ++i) basis.map(i, i) = 1;
    basis.penalty = difference_penalty(data.k, 1, false);
    basis.rank = data.k - 1;
    basis.unit_rows = true;
    basis.nodal = true;
    return basis;
  }
};

}  // namespace TESSERA_NAMESPACE::gam
