// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/hermite.hpp"
#include "gam/basis/parts.hpp"
#include "gam/linalg/linalg.hpp"

#include <optional>
#include <span>
#include <string_view>

namespace TESSERA_NAMESPACE::gam {

/// Cubic regression spline (bs="cr"). Coefficients are the values at K increasing knots; the penalty is the
/// integral of the squared second derivative. Source: Wood, Generalized Additive Models (2017), sec. 5.3.1.
[[nodiscard]] inline Basis cr_basis(std::span<const double> knots) {
  const int size = static_cast<int>(knots.size());
  const int inner = size - 2;
  const double unit = unit_of(knots);
  const auto width = [&](int i) {
    return (knots[static_cast<std::size_t>(i) + 1] - knots[static_cast<std::size_t>(i)]) / unit;
  };
  // The second derivatives gamma at the inner knots follow from the continuity of first derivatives: B gamma
  // = D beta. At the outer knots, second derivatives are zero.
  Matrix d(inner, size);
  Matrix b(inner, inner);
  for (int i = 0; i < inner; ++i) {
    d(i, i) = 1 / width(i);
    d(i, i + 1) = -1 / width(i) - 1 / width(i + 1);
    d(i, i + 2) = 1 / width(i + 1);
    b(i, i) = (width(i) + width(i + 1)) / 3;
    if (i + 1 < inner) b(i, i + 1) = b(i + 1, i) = width(i + 1) / 6;
  }
  // B is diagonally dominant, so it has an inverse.
  const Matrix gamma = solve(b, d).value();
  Matrix second(size, size);
  for (int j = 0; j < size; ++j) {
    for (int i = 0; i < inner; ++i) second(i + 1, j) = gamma(i, j);
  }
  return hermite_basis(knots, unit, second, multiply_tn(d, gamma), size - 2);
}

struct Cr {
  static constexpr char name[] = "cr";
  static constexpr bool random_effect = false;
  static constexpr bool several = false;
  static std::optional<OptionFault> settle(BasisOptions& options) { return settle_as(options, name); }
  static BasisSize size(const BasisOptions& options) {
    return {.cells = options.k - 1, .stride = 2, .coefficients = options.k, .free = 2};
  }

  static Basis make(const MarginData& data) {
    data.require_distinct(data.k);
    if (data.supplied.empty()) return cr_basis(data.quantiles({}));
    data.require_knots(data.k, false);
    return cr_basis(data.supplied);
  }

 protected:
  static std::optional<OptionFault> settle_as(BasisOptions& options, std::string_view basis) {
    ignore_orders(options, 0, basis);
    return set_default_k(options, 10, 3, basis);
  }
};

}  // namespace TESSERA_NAMESPACE::gam
