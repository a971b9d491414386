// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/hermite.hpp"
#include "gam/basis/parts.hpp"
#include "gam/linalg/linalg.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace TESSERA_NAMESPACE::gam {

/// Cyclic cubic regression spline (bs="cc") on K increasing knots. Source: Wood (2017), sec. 5.3.2.
[[nodiscard]] inline Basis cc_basis(std::span<const double> knots) {
  const int size = static_cast<int>(knots.size()) - 1;
  const double unit = unit_of(knots);
  const auto width = [&](int i) {
    const auto at = static_cast<std::size_t>((i + size) % size);
    return (knots[at + 1] - knots[at]) / unit;
  };
  Matrix d(size, size);
  Matrix b(size, size);
  for (int i = 0; i < size; ++i) {
    const int before = (i + size - 1) % size;
    const int after = (i + 1) % size;
    d(i, before) += 1 / width(i - 1);
    d(i, i) -= 1 / width(i - 1) + 1 / width(i);
    d(i, after) += 1 / width(i);
    b(i, before) += width(i - 1) / 6;
    b(i, i) += (width(i - 1) + width(i)) / 3;
    b(i, after) += width(i) / 6;
  }
  const Matrix second = solve(b, d).value();
  return hermite_basis(knots, unit, second, multiply_tn(d, second), size - 1);
}

struct Cc {
  static constexpr char name[] = "cc";
  static constexpr bool random_effect = false;
  static constexpr bool several = false;
  static std::optional<OptionFault> settle(BasisOptions& options) {
    ignore_orders(options, 0, name);
    return set_default_k(options, 10, 4, name);
  }
  static BasisSize size(const BasisOptions& options) {
    return {.cells = options.k - 1, .stride = 2, .coefficients = options.k - 1, .free = 1};
  }

  static Basis make(const MarginData& data) {
    data.require_distinct(data.k - 1);
    const auto& supplied = data.supplied;
    if (static_cast<int>(supplied.size()) == data.k || !(supplied.empty() || data.has_limits())) {
      data.require_knots(data.k, true);
      return cc_basis(supplied);
    }
    // With knots = c(LOW, HIGH), a limit beyond the data is one more distinct value.
    std::int64_t beyond = 0;
    if (data.has_limits())
      beyond = (supplied.front() < data.min ? 1 : 0) + (supplied.back() > data.max ? 1 : 0);
    data.require_distinct(data.k, data.distinct + beyond);
    return cc_basis(data.quantiles(supplied));
  }
};

}  // namespace TESSERA_NAMESPACE::gam
