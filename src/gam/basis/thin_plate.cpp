// SPDX-License-Identifier: Apache-2.0
#include "gam/basis/thin_plate.hpp"

#include "base/at.hpp"
#include "gam/basis/hermite.hpp"
#include "gam/basis/isotropic.hpp"
#include "gam/linalg/linalg.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// Number of unpenalised columns: the constant and x.
constexpr int free_columns = 2;

std::vector<double> in_units(std::span<const double> values, double shift, double unit) {
  std::vector<double> out;
  out.reserve(values.size());
  for (const double value : values) out.push_back((value - shift) / unit);
  return out;
}

/// Calls `use(i, cubes, distances)` for each point, with sum_j w_j |u_i - u_j|^3 / 12 and sum_j w_j |u_i -
/// u_j| / 2; u is increasing. On either side of u_i these sums are cubics and lines, whose coefficients are
/// sums of w_j u_j^p. They are computed in the widest type, because the results are small differences of
/// large numbers.
template <class Use>
void for_each_radial_sum(std::span<const double> u, std::span<const double> weights, const Use& use) {
  using Wide = long double;
  const auto add = [](std::array<Wide, 4>& sums, Wide weight, Wide x) {
    for (Wide& sum : sums) {
      sum += weight;
      weight *= x;
    }
  };
  std::array<Wide, 4> all{};
  for (std::size_t j = 0; j < u.size(); ++j) add(all, weights[j], u[j]);
  std::array<Wide, 4> left{};
  for (std::size_t i = 0; i < u.size(); ++i) {
    const Wide x = u[i];
    add(left, weights[i], x);
    std::array<Wide, 4> sums{};  // sums over the points on the left minus those on the right
    for (std::size_t p = 0; p < 4; ++p) sums[p] = 2 * left[p] - all[p];
    use(i, (((x * sums[0] - 3 * sums[1]) * x + 3 * sums[2]) * x - sums[3]) / 12, (x * sums[0] - sums[1]) / 2);
  }
}

/// y = E x, where E is the matrix of |u_i - u_j|^3 / 12. Cost: O(n).
void multiply_radial(std::span<const double> u, std::span<const double> x, std::span<double> y) {
  for_each_radial_sum(u, x, [&](std::size_t i, long double cubes, long double /*distances*/) {
    y[i] = static_cast<double>(cubes);
  });
}

/// Values and second derivatives in u of the columns: rows 2 i and 2 i + 1 belong to point i.
Matrix at_points(const RadialColumns& radial) {
  const std::vector<double> u = in_units(radial.points, radial.shift, radial.unit);
  const std::size_t points = u.size();
  Matrix out(static_cast<int>(2 * points), radial.map.cols());
  for (int c = 0; c < out.cols(); ++c) {
    const auto map = radial.map.column(c);
    const auto column = out.column(c);
    for_each_radial_sum(u, map.first(points), [&](std::size_t i, long double cubes, long double distances) {
      column[2 * i] = static_cast<double>(cubes + map[points] + map[points + 1] * u[i]);
      column[2 * i + 1] = static_cast<double>(distances);
    });
  }
  return out;
}

/// The first `size` dense columns at the values, transposed.
Matrix rows_at(const Component& component, std::span<const double> values, int size) {
  Matrix rows(size, static_cast<int>(values.size()));
  for (int i = 0; i < rows.cols(); ++i) evaluate_dense(component, values.subspan(at(i), 1), rows.column(i));
  return rows;
}

}  // namespace

Component radial_component(RadialColumns radial) {
  Component component;
  component.kind = Component::Kind::dense;
  component.margin = hermite_margin(radial.points, radial.unit);
  const Matrix values = at_points(radial);
  component.combinations = Matrix(values.rows(), dense_columns(values.cols()));
  std::ranges::copy(values.values(), component.combinations.values().begin());
  component.radial = std::move(radial);
  return component;
}

Basis thin_plate_basis(HostTeam& team, std::span<const double> values, std::span<const double> points,
                       int size) {
  RadialColumns radial;
  radial.points.assign(points.begin(), points.end());
  radial.shift = mean_of(values);
  radial.unit = unit_of(points);
  const std::vector<double> u = in_units(points, radial.shift, radial.unit);
  const int count = static_cast<int>(u.size());
  const int penalised = size - free_columns;

  const Truncated truncated = truncate(
      team, count, size, [&](std::span<const double> x, std::span<double> y) { multiply_radial(u, x, y); },
      1);
  // Makes the weights of the points orthogonal to the unpenalised polynomials.
  Matrix polynomials(count, free_columns);
  std::ranges::fill(polynomials.column(0), 1.0);
  std::ranges::copy(u, polynomials.column(1).begin());
  Matrix z = null_columns(multiply_tn(truncated.weights, polynomials));
  fix_signs(z, multiply(truncated.values, z));
  const Matrix weights = multiply(truncated.weights, z);
  const Matrix penalty = symmetrised(multiply_tn(z, multiply(truncated.form, z)));

  radial.map = Matrix(count + free_columns, size);
  for (int j = 0; j < penalised; ++j) std::ranges::copy(weights.column(j), radial.map.column(j).begin());
  for (int j = 0; j < free_columns; ++j) radial.map(count + j, penalised + j) = 1;
  std::vector<double> squares(at(size));
  const Matrix rows = rows_at(radial_component(radial), values, size);
  for (int i = 0; i < rows.cols(); ++i) {
    for (int j = 0; j < size; ++j) squares[at(j)] += rows(j, i) * rows(j, i);
  }
  std::vector<double> scale;
  for (const double square : squares) scale.push_back(std::sqrt(square / static_cast<double>(values.size())));
  scale[at(penalised)] = 1;
  for (int j = 0; j < size; ++j) {
    for (double& value : radial.map.column(j)) value /= scale[at(j)];
  }

  Basis basis;
  basis.component = radial_component(std::move(radial));
  basis.penalty = Matrix(size, size);
  const double unit = basis.component.radial->unit;
  for (int j = 0; j < penalised; ++j) {
    for (int i = 0; i < penalised; ++i)
      basis.penalty(i, j) = penalty(i, j) / scale[at(i)] / scale[at(j)] / unit / unit / unit;
  }
  basis.rank = penalised;
  basis.constant.resize(at(size));
  basis.constant[at(penalised)] = 1;
  basis.map = Matrix(basis.component.raw_size(), size);
  for (int j = 0; j < size; ++j) basis.map(j, j) = 1;
  double most = 0;
  for (int i = 0; i < rows.cols(); ++i) {
    double sum = 0;
    for (int j = 0; j < size; ++j) sum += std::abs(rows(j, i)) / scale[at(j)];
    most = std::max(most, sum);
  }
  basis.row_sum = most;
  return basis;
}

}  // namespace TESSERA_NAMESPACE::gam
