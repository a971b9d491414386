// SPDX-License-Identifier: Apache-2.0
#include "gam/basis/bspline.hpp"

#include "base/at.hpp"
#include "base/math/elementary.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using SplineCell = std::array<double, 16>;

/// The four cubic B-splines of a cell with equally spaced knots, as polynomials in t.
constexpr SplineCell uniform_cell = {1.0 / 6, -0.5, 0.5, -1.0 / 6,  // (1 - t)^3 / 6
                                     4.0 / 6, 0,    -1,  0.5,       // (3 t^3 - 6 t^2 + 4) / 6
                                     1.0 / 6, 0.5,  0.5, -0.5,      // (-3 t^3 + 3 t^2 + 3 t + 1) / 6
                                     0,       0,    0,   1.0 / 6};  // t^3 / 6

using Cubic = std::array<double, 4>;

/// (a + b t) p / scale, for a polynomial p of degree below three.
Cubic times_linear(const Cubic& p, double a, double b, double scale) {
  Cubic out{};
  for (std::size_t i = 0; i < 4; ++i) out[i] = (a * p[i] + (i > 0 ? b * p[i - 1] : 0)) / scale;
  return out;
}

/// The B-splines of degree knots.size() / 2, at most three, that are nonzero in the middle interval of
/// `knots`, as polynomials in t in [0, 1]. Source: de Boor, A Practical Guide to Splines, ch. X; the
/// recurrence is applied to polynomials instead of numbers.
SplineCell general_cell(std::span<const double> knots) {
  const std::size_t most = knots.size() / 2;
  const double begin = knots[most - 1];
  const double width = knots[most] - begin;
  std::array<Cubic, 4> splines{};
  splines[0][0] = 1;
  for (std::size_t degree = 1; degree <= most; ++degree) {
    Cubic saved{};
    for (std::size_t r = 0; r < degree; ++r) {
      const double right = knots[most + r];
      const double left = knots[most + r - degree];
      const Cubic falling = times_linear(splines[r], right - begin, -width, right - left);
      const Cubic rising = times_linear(splines[r], begin - left, width, right - left);
      for (std::size_t i = 0; i < 4; ++i) {
        splines[r][i] = saved[i] + falling[i];
        saved[i] = rising[i];
      }
    }
    splines[degree] = saved;
  }
  SplineCell cell{};
  for (std::size_t a = 0; a < 4; ++a) std::copy(splines[a].begin(), splines[a].end(), cell.begin() + 4 * a);
  return cell;
}

/// Weights of a difference, e.g. 1, -2, 1: binomial coefficients with alternating signs.
std::vector<double> difference_weights(int order) {
  std::vector<double> weights{1};
  for (int d = 0; d < order; ++d) {
    weights.push_back(0);
    for (std::size_t i = weights.size() - 1; i > 0; --i) weights[i] -= weights[i - 1];
  }
  return weights;
}

}  // namespace

Margin bspline_margin(std::span<const double> all, bool uniform, int degree) {
  Margin margin;
  margin.breaks.assign(all.begin() + degree, all.end() - degree);
  margin.uniform = uniform;
  for (std::size_t c = 0; c + 1 < margin.breaks.size(); ++c) {
    margin.cells.push_back(uniform && degree == 3 ? uniform_cell
                                                  : general_cell(all.subspan(c + 1, 2 * base::at(degree))));
  }
  return margin;
}

Basis bspline_basis(Margin margin, std::span<const double> knots, int size, int columns) {
  Basis basis;
  basis.component.kind = Component::Kind::spline;
  basis.component.margin = std::move(margin);
  basis.map = Matrix(basis.component.raw_size(), size);
  for (int i = 0; i < columns; ++i) basis.map(i, i % size) = 1;
  basis.knots.assign(knots.begin(), knots.end());
  basis.unit_rows = true;
  return basis;
}

Matrix derivative_penalty(const Margin& margin, int size, int order) {
  Matrix penalty(size, size);
  for (int c = 0; c < margin.cell_count(); ++c) {
    const double width = margin.breaks[base::at(c) + 1] - margin.breaks[base::at(c)];
    std::array<Cubic, 4> derivatives{};  // derivatives with respect to t
    for (std::size_t a = 0; a < 4; ++a) {
      for (int i = order; i < 4; ++i) {
        double value = margin.cells[base::at(c)][4 * a + base::at(i)];
        for (int d = 0; d < order; ++d) value *= i - d;
        derivatives[a][base::at(i - order)] = value;
      }
    }
    const double unit = base::pow(width, 1 - 2 * order);
    for (int a = 0; a < 4 && c + a < size; ++a) {
      for (int b = 0; b < 4 && c + b < size; ++b) {
        double integral = 0;
        for (std::size_t i = 0; i < 4; ++i) {
          for (std::size_t j = 0; j < 4; ++j)
            integral +=
                derivatives[base::at(a)][i] * derivatives[base::at(b)][j] / static_cast<double>(i + j + 1);
        }
        penalty(c + a, c + b) += unit * integral;
      }
    }
  }
  return penalty;
}

Matrix difference_penalty(int size, int order, bool cyclic) {
  const std::vector<double> weights = difference_weights(order);
  Matrix penalty(size, size);
  const int differences = cyclic ? size : size - order;
  for (int i = 0; i < differences; ++i) {
    for (int a = 0; a <= order; ++a) {
      for (int b = 0; b <= order; ++b) {
        penalty((i + a) % size, (i + b) % size) +=
            weights[static_cast<std::size_t>(a)] * weights[static_cast<std::size_t>(b)];
      }
    }
  }
  return penalty;
}

}  // namespace TESSERA_NAMESPACE::gam
