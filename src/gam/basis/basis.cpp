// SPDX-License-Identifier: Apache-2.0
#include "gam/basis/basis.hpp"

#include "base/math/elementary.hpp"
#include "gam/basis/isotropic.hpp"
#include "gam/linalg/linalg.hpp"

#include <limits>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Below this ratio of the extreme singular values of B(points), the basis keeps its coefficients.
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

Matrix symmetrised(const Matrix& a) {
  Matrix out(a.rows(), a.cols());
  for (int j = 0; j < a.cols(); ++j) {
    for (int i = 0; i < a.rows(); ++i) out(i, j) = (a(i, j) + a(j, i)) / 2;
  }
  return out;
}

bool reparameterise_at_points(Basis& basis, double low, double high) {
  const int size = basis.size();
  const std::vector<double> points = sequence(low, high, size);
  Matrix raw(size, basis.component.raw_size());
  for (int i = 0; i < size; ++i) {
    const double* point = &points[static_cast<std::size_t>(i)];
    if (basis.component.kind == Component::Kind::dense) {
      std::vector<double> row(static_cast<std::size_t>(raw.cols()));
      evaluate_dense(basis.component, std::span(point, 1), row);
      for (int j = 0; j < raw.cols(); ++j) raw(i, j) = row[static_cast<std::size_t>(j)];
      continue;
    }
    const LocalValues local = evaluate(basis.component.margin, *point);
    for (int a = 0; a < 4; ++a) raw(i, local.first + a) = local.values[static_cast<std::size_t>(a)];
  }
  const Matrix values = multiply(raw, basis.map);
  const auto inverse = solve(values, identity(size));
  if (!inverse) return false;
  // The smallest singular value of B is computed from B^-1: in B'B, rounding would hide a small one.
  const double ratio = 1 / (largest_singular_value(values) * largest_singular_value(*inverse));
  if (!(ratio >= base::pow(std::numeric_limits<double>::epsilon(), 0.66))) return false;
  Matrix map = multiply(basis.map, *inverse);
  Matrix penalty = symmetrised(multiply_tn(*inverse, multiply(basis.penalty, *inverse)));
  basis.unit_rows = false;
  if (ratio < nearly_singular) {
    basis.points = PointValues{values, std::move(map), std::move(penalty)};
    return true;
  }
  basis.map = std::move(map);
  basis.penalty = std::move(penalty);
  basis.constant = {};
  return true;
}

}  // namespace TESSERA_NAMESPACE::gam
