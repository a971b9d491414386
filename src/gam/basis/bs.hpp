// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/bspline.hpp"
#include "gam/basis/parts.hpp"
#include "gam/basis/ps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Ascending knots. `ends`: outer lower, inner lower, inner upper and outer upper end. The inner knots are
/// equally spaced over the inner interval. The outermost `degree + 1` knots on each side begin at the outer
/// end, and have the spacing of an equal division of the outer interval.
[[nodiscard]] inline std::vector<double> bs_knots(int k, int degree, std::span<const double> ends) {
  const int inner = k - degree - 1;
  const double step = (ends[3] - ends[0]) / (k - degree);
  std::vector<double> knots = sequence(ends[0] - step * degree, ends[0], degree + 1);
  if (inner > 1) std::ranges::copy(sequence(ends[1], ends[2], inner), std::back_inserter(knots));
  if (inner == 1) knots.push_back(ends[1]);
  std::ranges::copy(sequence(ends[3], ends[3] + step * degree, degree + 1), std::back_inserter(knots));
  return knots;
}

/// bs="bs": B-splines of the degree m[0], with a penalty on the derivatives of each order m[1], m[2], …
/// Source: Wood, Statistics and Computing 27 (2017), 985.
struct Bs {
  static constexpr char name[] = "bs";
  static constexpr bool random_effect = false;
  static constexpr bool several = false;

  static std::optional<OptionFault> settle(BasisOptions& options) {
    const bool second = options.m.size() > 1 && !std::isnan(options.m[1]);
    const double degree = order_or(options, 0, second ? options.m[1] + 1 : 3);
    if (degree != 1 && degree != 2 && degree != 3)
      return OptionFault{"m",
                         fmt::format("m[1]={}: give the degree of bs=\"bs\", which is 1, 2 or 3", degree)};
    std::vector<double> orders{degree, order_or(options, 1, degree - 1)};
    for (std::size_t i = 2; i < options.m.size(); ++i) orders.push_back(options.m[i]);
    for (auto one = orders.begin() + 1; one != orders.end(); ++one) {
      if (*one != std::floor(*one) || *one < 0 || *one > degree ||
          std::find(orders.begin() + 1, one, *one) != one)
        return OptionFault{
            "m", "m: bs=\"bs\" takes a degree, then distinct orders of derivatives from 0 to the degree"};
    }
    options.m = std::move(orders);
    return set_default_k(options, 10, static_cast<int>(degree) + 1, name);
  }
  static BasisSize size(const BasisOptions& options) {
    return {.cells = options.k - degree_of(options),
            .stride = 1,
            .coefficients = options.k,
            .free = static_cast<int>(options.m[1]),
            .penalties = static_cast<int>(options.m.size()) - 1};
  }

  static Basis make(const MarginData& data) {
    constexpr std::size_t ends = 4;
    data.require_distinct(data.k);
    const int degree = degree_of(data);
    const std::size_t all = static_cast<std::size_t>(data.k + degree + 1);
    if (data.supplied.size() == ends && ends < all) {
      data.require_covered(data.supplied.front(), data.supplied.back());
      return of_knots(data, bs_knots(data.k, degree, data.supplied), false);
    }
    if (data.supplied.empty() || data.has_limits()) {
      const auto [low, high] = data.limits();
      return of_knots(data, ps_knots(data.k, low, high, degree), true);
    }
    data.require_knots(static_cast<int>(all), true);
    // Data must lie where the B-splines sum to one.
    data.require_covered(data.supplied[static_cast<std::size_t>(degree)],
                         data.supplied[all - 1 - static_cast<std::size_t>(degree)]);
    return of_knots(data, data.supplied, false);
  }

 private:
  static int degree_of(const BasisOptions& options) { return static_cast<int>(options.m[0]); }

  static Basis of_knots(const MarginData& data, std::span<const double> knots, bool uniform) {
    Basis basis = bspline_basis(bspline_margin(knots, uniform, degree_of(data)), knots, data.k, data.k);
    for (std::size_t i = 1; i < data.m.size(); ++i) {
      const int order = static_cast<int>(data.m[i]);
      Matrix penalty = derivative_penalty(basis.component.margin, data.k, order);
      if (i == 1) {
        basis.penalty = std::move(penalty);
        basis.rank = data.k - order;
      } else {
        basis.more.push_back({std::move(penalty), data.k - order});
      }
    }
    return basis;
  }
};

}  // namespace TESSERA_NAMESPACE::gam
