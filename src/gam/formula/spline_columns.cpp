// SPDX-License-Identifier: Apache-2.0
#include "gam/formula/spline_columns.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Second derivatives of all cubic B-splines at the lower or the upper end.
std::vector<double> second_derivatives(std::span<const double> knots, std::size_t count, bool at_upper) {
  std::vector<double> out(count);
  // The second derivative is a combination of linear B-splines. At an end, one of them is 1, and the others
  // are 0.
  const auto slope = [&](std::size_t j, std::size_t degree) {
    const double width = knots[j + degree] - knots[j];
    return width > 0 ? static_cast<double>(degree) / width : 0;
  };
  // The linear B-spline B_j is 1 at knots[j + 1].
  const std::size_t one = at_upper ? count - 1 : 2;
  const auto linear = [&](std::size_t j) { return j == one ? 1.0 : 0.0; };
  const auto of_quadratic = [&](std::size_t j) {  // first derivative of B_j of degree 2
    return slope(j, 2) * linear(j) - slope(j + 1, 2) * linear(j + 1);
  };
  for (std::size_t j = 0; j < count; ++j)
    out[j] = slope(j, 3) * of_quadratic(j) - slope(j + 1, 3) * of_quadratic(j + 1);
  return out;
}

/// Householder vectors of the QR factorisation of two columns, as in LINPACK's dqrdc, which R's qr() uses.
void householder(std::array<std::vector<double>, 2>& columns) {
  const std::size_t rows = columns[0].size();
  for (std::size_t l = 0; l < 2; ++l) {
    std::vector<double>& column = columns[l];
    double square = 0;
    for (std::size_t i = l; i < rows; ++i) square += column[i] * column[i];
    double norm = std::sqrt(square);
    if (norm == 0) continue;
    if (column[l] < 0) norm = -norm;
    for (std::size_t i = l; i < rows; ++i) column[i] /= norm;
    column[l] += 1;
    if (l == 1) continue;
    double t = 0;
    for (std::size_t i = 0; i < rows; ++i) t -= column[i] * columns[1][i];
    t /= column[0];
    for (std::size_t i = 0; i < rows; ++i) columns[1][i] += t * column[i];
  }
}

}  // namespace

std::vector<double> SplineColumns::table(int part) const {
  const auto order = static_cast<std::size_t>(degree) + 1;
  std::vector<double> knots(order, lower);
  knots.insert(knots.end(), inner_knots.begin(), inner_knots.end());
  knots.insert(knots.end(), order, upper);
  const std::size_t splines = knots.size() - order;
  const std::size_t first = intercept ? 0 : 1;  // without an intercept, the first B-spline is omitted
  std::vector<double> weights(splines);
  if (natural) {
    std::array<std::vector<double>, 2> constraints{second_derivatives(knots, splines, false),
                                                   second_derivatives(knots, splines, true)};
    for (std::vector<double>& one : constraints)
      one.erase(one.begin(), one.begin() + static_cast<std::ptrdiff_t>(first));
    householder(constraints);
    // Column part + 2 of Q: apply the reflections, the last one first, to a unit vector.
    std::vector<double> column(splines - first);
    column[static_cast<std::size_t>(part) + 1] = 1;
    for (std::size_t l = 2; l-- > 0;) {
      const std::vector<double>& u = constraints[l];
      double t = 0;
      for (std::size_t i = l; i < u.size(); ++i) t -= u[i] * column[i];
      t /= u[l];
      for (std::size_t i = l; i < u.size(); ++i) column[i] += t * u[i];
    }
    std::ranges::copy(column, weights.begin() + static_cast<std::ptrdiff_t>(first));
  } else {
    weights[first + static_cast<std::size_t>(part) - 1] = 1;
  }
  std::vector<double> table{static_cast<double>(degree), static_cast<double>(knots.size()), lower, upper};
  table.insert(table.end(), knots.begin(), knots.end());
  table.insert(table.end(), weights.begin(), weights.end());
  return table;
}

}  // namespace TESSERA_NAMESPACE::gam
