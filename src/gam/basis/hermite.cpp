// SPDX-License-Identifier: Apache-2.0
#include "gam/basis/hermite.hpp"

#include <cmath>

namespace TESSERA_NAMESPACE::gam {

namespace {

/// Converts a penalty on second derivatives with respect to x / unit to one with respect to x.
Matrix penalty_by_x(Matrix penalty, double unit) {
  for (double& value : penalty.values()) value = value / unit / unit / unit;
  return penalty;
}

/// Map from the coefficients to the raw columns: value and second derivative at each knot.
Matrix hermite_map(const Matrix& second, int knots) {
  Matrix map(2 * knots, second.cols());
  for (int i = 0; i < knots; ++i) {
    const int from = i % second.cols();
    map(2 * i, from) = 1;
    for (int j = 0; j < second.cols(); ++j) map(2 * i + 1, j) = second(i % second.rows(), j);
  }
  return map;
}

}  // namespace

Margin hermite_margin(std::span<const double> knots, double unit) {
  Margin margin;
  margin.breaks.assign(knots.begin(), knots.end());
  margin.stride = 2;
  for (std::size_t c = 0; c + 1 < knots.size(); ++c) {
    const double h = (knots[c + 1] - knots[c]) / unit;
    const double s = h * h / 6;
    margin.cells.push_back({1, -1, 0, 0,           // value at the left knot: 1 - t
                            0, -2 * s, 3 * s, -s,  // its second derivative: ((1 - t)^3 - (1 - t)) h^2 / 6
                            0, 1, 0, 0,            // value at the right knot: t
                            0, -s, 0, s});         // its second derivative: (t^3 - t) h^2 / 6
  }
  return margin;
}

double unit_of(std::span<const double> knots) {
  return std::ldexp(1.0, std::ilogb(knots.back() - knots.front()));
}

Basis hermite_basis(std::span<const double> knots, double unit, const Matrix& second, const Matrix& penalty,
                    int rank) {
  Basis basis;
  basis.component.kind = Component::Kind::spline;
  basis.component.margin = hermite_margin(knots, unit);
  basis.component.margin.cyclic = second.rows() < static_cast<int>(knots.size());
  basis.map = hermite_map(second, static_cast<int>(knots.size()));
  basis.penalty = penalty_by_x(symmetrised(penalty), unit);
  basis.rank = rank;
  basis.knots.assign(knots.begin(), knots.end());
  basis.nodal = true;
  return basis;
}

}  // namespace TESSERA_NAMESPACE::gam
