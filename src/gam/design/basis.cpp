// SPDX-License-Identifier: Apache-2.0
#include "gam/design/basis.hpp"

#include "gam/linalg/linalg.hpp"

#include <limits>

namespace tessera::gam {
namespace {

using Cell = std::array<double, 16>;

/// The four cubic B-splines of a cell with equally spaced knots, in t.
constexpr Cell uniform_cell = {1.0 / 6, -0.5, 0.5, -1.0 / 6,  // (1 - t)^3 / 6
                               4.0 / 6, 0,    -1,  0.5,       // (3 t^3 - 6 t^2 + 4) / 6
                               1.0 / 6, 0.5,  0.5, -0.5,      // (-3 t^3 + 3 t^2 + 3 t + 1) / 6
                               0,       0,    0,   1.0 / 6};  // t^3 / 6

using Cubic = std::array<double, 4>;

/// (a + b t) p / scale, for p of degree below three.
Cubic times_linear(const Cubic& p, double a, double b, double scale) {
  Cubic out{};
  for (std::size_t i = 0; i < 4; ++i) out[i] = (a * p[i] + (i > 0 ? b * p[i - 1] : 0)) / scale;
  return out;
}

/// The four cubic B-splines that are not zero in [knots[2], knots[3]], in t, from the six knots that
/// shape them there. Source: de Boor, A Practical Guide to Splines, ch. X, with polynomials for numbers.
Cell general_cell(std::span<const double, 6> knots) {
  const double begin = knots[2];
  const double width = knots[3] - begin;
  std::array<Cubic, 4> splines{};
  splines[0][0] = 1;
  for (std::size_t degree = 1; degree <= 3; ++degree) {
    Cubic saved{};
    for (std::size_t r = 0; r < degree; ++r) {
      const double right = knots[3 + r];
      const double left = knots[3 + r - degree];
      const Cubic falling = times_linear(splines[r], right - begin, -width, right - left);
      const Cubic rising = times_linear(splines[r], begin - left, width, right - left);
      for (std::size_t i = 0; i < 4; ++i) {
        splines[r][i] = saved[i] + falling[i];
        saved[i] = rising[i];
      }
    }
    splines[degree] = saved;
  }
  Cell cell{};
  for (std::size_t a = 0; a < 4; ++a) std::copy(splines[a].begin(), splines[a].end(), cell.begin() + 4 * a);
  return cell;
}

/// B-splines over every interval of `all` but the three at each end.
Margin bspline_margin(std::span<const double> all, bool uniform) {
  Margin margin;
  margin.breaks.assign(all.begin() + 3, all.end() - 3);
  margin.uniform = uniform;
  for (std::size_t c = 0; c + 1 < margin.breaks.size(); ++c) {
    margin.cells.push_back(uniform ? uniform_cell : general_cell(all.subspan(c + 1).first<6>()));
  }
  return margin;
}

/// Binomial coefficients of the difference of order d with alternating signs, e.g. 1, -2, 1.
std::vector<double> difference_weights(int order) {
  std::vector<double> weights{1};
  for (int d = 0; d < order; ++d) {
    weights.push_back(0);
    for (std::size_t i = weights.size() - 1; i > 0; --i) weights[i] -= weights[i - 1];
  }
  return weights;
}

/// D'D of the differences over neighbouring coefficients; cyclic ones go round.
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

/// A power of two about as large as what the knots span.
double unit_of(std::span<const double> knots) {
  return std::ldexp(1.0, std::ilogb(knots.back() - knots.front()));
}

/// A penalty of second derivatives by x / unit, as the integral of the squared ones by x.
Matrix penalty_by_x(Matrix penalty, double unit) {
  for (double& value : penalty.values()) value = value / unit / unit / unit;
  return penalty;
}

/// A cubic of one interval from its values and second derivatives at both ends, for each interval.
///
/// The second derivatives are those by x / unit, since in units of x they may be beyond all numbers.
Margin hermite_margin(std::span<const double> knots, double unit) {
  Margin margin;
  margin.breaks.assign(knots.begin(), knots.end());
  margin.stride = 2;
  for (std::size_t c = 0; c + 1 < knots.size(); ++c) {
    const double h = (knots[c + 1] - knots[c]) / unit;
    const double s = h * h / 6;
    margin.cells.push_back({1, -1, 0, 0,           // value at the left knot: 1 - t
                            0, -2 * s, 3 * s, -s,  // second derivative there: ((1 - t)^3 - (1 - t)) h^2 / 6
                            0, 1, 0, 0,            // value at the right knot: t
                            0, -s, 0, s});         // second derivative there: (t^3 - t) h^2 / 6
  }
  return margin;
}

/// The map from values at the knots to the values and second derivatives that `hermite_margin` takes;
/// `second` has a row for each knot, and with `cyclic` the last knot is the first.
Matrix hermite_map(const Matrix& second, int knots) {
  Matrix map(2 * knots, second.cols());
  for (int i = 0; i < knots; ++i) {
    const int from = i % second.cols();
    map(2 * i, from) = 1;
    for (int j = 0; j < second.cols(); ++j) map(2 * i + 1, j) = second(i % second.rows(), j);
  }
  return map;
}

Matrix symmetrised(const Matrix& a) {
  Matrix out(a.rows(), a.cols());
  for (int j = 0; j < a.cols(); ++j) {
    for (int i = 0; i < a.rows(); ++i) out(i, j) = (a(i, j) + a(j, i)) / 2;
  }
  return out;
}

/// Between the smallest and the largest singular value of values at points.
constexpr double nearly_singular = 1e-3;

double largest_singular_value(const Matrix& a) {
  return std::sqrt(symmetric_eigen(multiply_tn(a, a)).values.back());
}

}  // namespace

std::vector<double> sequence(double from, double to, int count) {
  std::vector<double> out(static_cast<std::size_t>(count));
  const double by = (to - from) / (count - 1);
  for (int i = 0; i < count; ++i) out[static_cast<std::size_t>(i)] = from + i * by;
  out.back() = to;
  return out;
}

std::vector<double> ps_knots(int k, double low, double high) {
  const double margin = (high - low) * 0.001;
  const double first = low - margin;
  const double last = high + margin;
  const double step = (last - first) / (k - 3);
  return sequence(first - step * 3, last + step * 3, k + 4);
}

Basis ps_basis(std::span<const double> knots, int order, bool uniform) {
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

Basis cp_basis(std::span<const double> knots, int order, bool uniform) {
  Basis basis;
  const int size = static_cast<int>(knots.size()) - 1;
  const double period = knots.back() - knots.front();
  std::vector<double> all(knots.begin(), knots.end());
  all.insert(all.begin(), knots.end() - 4, knots.end() - 1);
  for (std::size_t i = 0; i < 3; ++i) all[i] -= period;
  for (std::size_t i = 1; i <= 3; ++i) all.push_back(knots[i] + period);

  basis.component.kind = Component::Kind::spline;
  basis.component.margin = bspline_margin(all, uniform);
  basis.component.margin.cyclic = true;
  basis.map = Matrix(size + 3, size);
  for (int i = 0; i < size + 3; ++i) basis.map(i, i % size) = 1;
  basis.penalty = difference_penalty(size, order, true);
  basis.rank = size - 1;
  basis.knots.assign(knots.begin(), knots.end());
  basis.unit_rows = true;
  return basis;
}

Basis cr_basis(std::span<const double> knots) {
  const int size = static_cast<int>(knots.size());
  const int inner = size - 2;
  const double unit = unit_of(knots);
  const auto width = [&](int i) {
    return (knots[static_cast<std::size_t>(i) + 1] - knots[static_cast<std::size_t>(i)]) / unit;
  };
  // B gamma = D beta ties the inner second derivatives to the values; the outer ones are zero.
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
  Basis basis;
  basis.component.kind = Component::Kind::spline;
  basis.component.margin = hermite_margin(knots, unit);
  basis.map = hermite_map(second, size);
  basis.penalty = penalty_by_x(symmetrised(multiply_tn(d, gamma)), unit);
  basis.rank = size - 2;
  basis.knots.assign(knots.begin(), knots.end());
  basis.nodal = true;
  return basis;
}

Basis cc_basis(std::span<const double> knots) {
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
  Basis basis;
  basis.component.kind = Component::Kind::spline;
  basis.component.margin = hermite_margin(knots, unit);
  basis.component.margin.cyclic = true;
  basis.map = hermite_map(second, size + 1);
  basis.penalty = penalty_by_x(symmetrised(multiply_tn(d, second)), unit);
  basis.rank = size - 1;
  basis.knots.assign(knots.begin(), knots.end());
  basis.nodal = true;
  return basis;
}

Basis re_basis(bool factor, int levels) {
  Basis basis;
  basis.component.kind = factor ? Component::Kind::factor : Component::Kind::numeric;
  basis.component.levels = factor ? levels : 0;
  basis.map = identity(basis.component.raw_size());
  basis.penalty = identity(basis.component.raw_size());
  basis.rank = basis.component.raw_size();
  basis.unit_rows = factor;
  basis.nodal = true;
  return basis;
}

bool reparameterise_at_points(Basis& basis, double low, double high) {
  const int size = basis.size();
  const std::vector<double> points = sequence(low, high, size);
  Matrix raw(size, basis.component.raw_size());
  for (int i = 0; i < size; ++i) {
    const LocalValues local = evaluate(basis.component.margin, points[static_cast<std::size_t>(i)]);
    for (int a = 0; a < 4; ++a) raw(i, local.place + a) = local.values[static_cast<std::size_t>(a)];
  }
  const Matrix values = multiply(raw, basis.map);
  const auto inverse = solve(values, identity(size));
  if (!inverse) return false;
  // The ratio of the extreme singular values, each found as a largest one so that squaring costs nothing.
  const double ratio = 1 / (largest_singular_value(values) * largest_singular_value(*inverse));
  if (!(ratio >= std::pow(std::numeric_limits<double>::epsilon(), 0.66))) return false;
  Matrix map = multiply(basis.map, *inverse);
  Matrix penalty = symmetrised(multiply_tn(*inverse, multiply(basis.penalty, *inverse)));
  basis.unit_rows = false;
  if (ratio < nearly_singular) {
    basis.points = PointValues{values, std::move(map), std::move(penalty)};
    return true;
  }
  basis.map = std::move(map);
  basis.penalty = std::move(penalty);
  return true;
}

}  // namespace tessera::gam
