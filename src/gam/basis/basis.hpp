// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/component.hpp"
#include "gam/basis/spline.hpp"

#include <tessera/gam/matrix.hpp>

#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

/// The basis of one variable, made from knots: a local piecewise cubic (`Margin`), a small map from raw
/// columns to the basis' columns, and mgcv's penalty on the coefficients before scaling.
///
///     const auto basis = ps_basis(ps_knots(10, 0, 1), 2, true);
///     // basis.component.margin: 7 cells; basis.map: 10 x 10, the identity; basis.penalty: D'D, rank 8
///
/// Everything here is pure and the same on every rank. Each kind of basis has its own file; parts.hpp
/// describes its parts.
namespace TESSERA_NAMESPACE::gam {

/// te() parametrises a margin by its values at K points. If the map from these values to the basis' own
/// coefficients is ill-conditioned, the basis keeps its coefficients. The matrices here then define mgcv's
/// parametrisation by values.
struct PointValues {
  Matrix values;   ///< K x K; its product with the basis' own coefficients: the values
  Matrix map;      ///< map from the values to the raw columns
  Matrix penalty;  ///< penalty on the values, K x K
};

struct MorePenalty {
  Matrix matrix;
  int rank = 0;
};

/// A basis of one variable: X = R map, where R has the raw columns of `component`.
struct Basis {
  Component component;  ///< the caller sets its `variable`
  Matrix map;           ///< raw columns x K; empty: the identity
  Matrix penalty;       ///< K x K, symmetric, not scaled; empty: the identity
  int rank = 0;
  std::vector<MorePenalty> more;      ///< further penalties; if `set_ranks` is empty, ranges are nested
  std::vector<int> set_ranks{};       ///< rank of the sum of each subset of penalties: see `Penalty`
  std::vector<double> knots;          ///< as mgcv stores them; empty for a basis without knots
  bool unit_rows = false;             ///< whether every row of X is nonnegative and sums to one
  std::optional<double> row_sum;      ///< maximum over rows of the sum of |x|, if known in advance
  bool dense_levels = false;          ///< whether a level of a factor may have several nonzero columns
  bool fixed = false;                 ///< whether a tensor product omits the penalty (fx)
  bool nodal = false;                 ///< whether coefficients are already values, as te()'s `np` makes them
  std::optional<PointValues> points;  ///< set if the parametrisation by values is ill-conditioned
  std::vector<double> constant;       ///< the coefficients of the constant 1; empty: all ones
  /// The vector c of the basis' own constraint c'b = 0, which `map` already satisfies; empty: no constraint.
  std::vector<double> constraint{};
  /// Map from the natural coefficients to the basis' own ones, already part of `map`; empty: there are none.
  Matrix natural{};

  [[nodiscard]] int size() const noexcept { return map.empty() ? component.raw_size() : map.cols(); }
};

/// R's seq(from, to, length = count), with the same bits; `count` is at least 2.
[[nodiscard]] std::vector<double> sequence(double from, double to, int count);

[[nodiscard]] Matrix symmetrised(const Matrix& a);

/// te()'s reparameterisation of a margin: the coefficients become the values at K equally spaced points of
/// [low, high]. With P = B(points)^-1, the map is multiplied by P, and the penalty becomes P'SP. Returns
/// false, and leaves the basis unchanged, if B(points) is too close to singular by mgcv's criterion (a cyclic
/// basis whose ends coincide). If the singular values of B(points) differ by a factor above 1e3 (a cyclic
/// P-spline of even K over its period), the basis keeps its coefficients, and `Basis::points` is set.
bool reparameterise_at_points(Basis& basis, double low, double high);

/// The values at x of a margin's four nonzero raw columns, `first … first + 3`.
struct LocalValues {
  int first;
  std::array<double, 4> values;
};

/// On the host. Cost: one division, and a binary search if the cells are not uniform.
[[nodiscard]] inline LocalValues evaluate(const Margin& margin, double x) {
  const double first = margin.breaks.front();
  const double last = margin.breaks.back();
  if (margin.cyclic) x = wrap_into_period(x, first, last);
  const int cells = margin.cell_count();
  const double guess = margin.uniform ? (x - first) / (last - first) * cells
                                      : breaks_up_to(margin.breaks.data(), cells + 1, x) - 1;
  // NaN goes to the first cell: converting it to an integer would be undefined.
  const int cell = static_cast<int>(std::fmin(std::fmax(guess, 0.0), static_cast<double>(cells - 1)));
  const auto at = static_cast<std::size_t>(cell);
  const double t = (x - margin.breaks[at]) / (margin.breaks[at + 1] - margin.breaks[at]);
  LocalValues local{cell * margin.stride, {}};
  const bool outside = x < first || x > last;
  const double end = t < 0 ? 0 : 1;
  for (std::size_t a = 0; a < 4; ++a) {
    const double* c = margin.cells[at].data() + 4 * a;
    const double s = outside ? end : t;
    double value = cubic(c[0], c[1], c[2], c[3], s);
    if (outside) value += (c[1] + s * (2 * c[2] + s * 3 * c[3])) * (t - end);
    local.values[a] = value;
  }
  return local;
}

}  // namespace TESSERA_NAMESPACE::gam
