// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/count_memo.hpp"
#include "gam/family/nb.hpp"
#include "gam/family/tweedie.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <optional>
#include <vector>

/// Caches of likelihood terms that depend only on a row's response and the family's parameters. One cache per
/// pass. CPU only. Results do not depend on the rows seen before. Not thread-safe.
namespace TESSERA_NAMESPACE::gam {

/// For nb, by count; the cache does not change results.
class NbMemo {
 public:
  [[nodiscard]] Nb::ResponsePart<double> response_part(const Nb& family, double y) {
    if (family.theta != theta_) {
      theta_ = family.theta;
      known_.clear();
    }
    return known_(y, [&](double count) { return family.response_part(count); });
  }

 private:
  double theta_ = 0;
  CountMemo<Nb::ResponsePart<double>> known_;
};

/// For tw. With p fixed, the series and its derivatives are functions of s alone. Each cell of s has a
/// Chebyshev interpolant, checked at intermediate points. If the check fails, as for p near 1, where the
/// density has many modes, the cell evaluates the series.
class TwMemo {
 public:
  [[nodiscard]] TweedieSeries response_part(const Tw& family, double y) {
    return y > 0 ? at(family.series_c(), family.series_s(y, family.phi)) : TweedieSeries{};
  }
  [[nodiscard]] TweedieSeries at(double c, double s) {
    if (!(s > -range && s < range)) return tweedie_series(c, s);
    if (c != c_) {
      c_ = c;
      cells_.clear();
      cells_.resize(2 * static_cast<std::size_t>(range * per_unit));
    }
    const double place = (s + range) * per_unit;
    const auto index = static_cast<std::size_t>(place);
    if (!cells_[index]) cells_[index] = cell_at(index);
    const Cell& cell = *cells_[index];
    return cell.exact ? value_of(cell, 2 * (place - static_cast<double>(index)) - 1) : tweedie_series(c, s);
  }

 private:
  static constexpr double range = 64;
  static constexpr double per_unit = 4;
  static constexpr int points = 13;
  static constexpr std::size_t lanes = 8;
  using Lanes = std::array<double, lanes>;
  struct Cell {
    std::array<Lanes, points> powers{};  ///< polynomial coefficients in u, -1 <= u <= 1
    bool exact = false;
  };

  static Lanes lanes_of(const TweedieSeries& at) {
    return {at.value, at.by_c, at.by_s, at.by_cc, at.by_cs, at.by_ss, 0, 0};
  }
  static TweedieSeries value_of(const Cell& cell, double u) {
    Lanes sum = cell.powers[points - 1];
    for (std::size_t k = points - 1; k-- > 0;) {
      for (std::size_t i = 0; i < lanes; ++i) sum[i] = sum[i] * u + cell.powers[k][i];
    }
    return {sum[0], sum[1], sum[2], sum[3], sum[4], sum[5]};
  }
  [[nodiscard]] Lanes series_at(std::size_t index, double u) const {
    return lanes_of(tweedie_series(c_, (static_cast<double>(index) + 0.5 * (u + 1)) / per_unit - range));
  }

  [[nodiscard]] Cell cell_at(std::size_t index) const {
    constexpr double rounding = 1e-13;
    Cell cell;
    std::array<Lanes, points> at{};
    std::array<double, points> angles{};
    for (std::size_t j = 0; j < points; ++j) {
      angles[j] = std::numbers::pi * (static_cast<double>(j) + 0.5) / points;
      at[j] = series_at(index, cos(angles[j]));
    }
    // Converts the Chebyshev coefficients to powers of u: T_k = 2 u T_(k-1) - T_(k-2).
    std::array<double, points> before{};
    std::array<double, points> polynomial{1};
    for (int k = 0; k < points; ++k) {
      for (std::size_t i = 0; i < lanes; ++i) {
        double weight = 0;
        for (std::size_t j = 0; j < points; ++j) weight += at[j][i] * cos(k * angles[j]);
        weight *= (k == 0 ? 1.0 : 2.0) / points;
        for (std::size_t power = 0; power < points; ++power)
          cell.powers[power][i] += weight * polynomial[power];
      }
      std::array<double, points> next{};
      for (std::size_t power = 0; power < points; ++power)
        next[power] = (power > 0 ? (k == 0 ? 1 : 2) * polynomial[power - 1] : 0) - before[power];
      before = polynomial;
      polynomial = next;
    }
    cell.exact = true;
    for (const double u : {-0.97, -0.55, 0.12, 0.68, 0.99}) {
      const Lanes here = lanes_of(value_of(cell, u));
      const Lanes there = series_at(index, u);
      for (std::size_t i = 0; i < lanes; ++i)
        cell.exact = cell.exact && fabs(here[i] - there[i]) <= rounding * (1 + fabs(there[i]));
    }
    return cell;
  }

  double c_ = 0;
  std::vector<std::optional<Cell>> cells_;
};

struct ResponseMemos {
  NbMemo nb;
  TwMemo tw;
  [[nodiscard]] NbMemo& of(const Nb&) { return nb; }
  [[nodiscard]] TwMemo& of(const Tw&) { return tw; }
};

}  // namespace TESSERA_NAMESPACE::gam
