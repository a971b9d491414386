// SPDX-License-Identifier: Apache-2.0
#include "gam/basis/isotropic.hpp"

#include "base/at.hpp"
#include "base/math/elementary.hpp"
#include "base/r_random.hpp"
#include "gam/basis/thin_plate.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numbers>
#include <numeric>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// A column's first value of at least this fraction of its maximum |value| is made positive.
constexpr double sign_threshold = 0.1;

std::vector<double> row_of(const Matrix& values, int i) {
  std::vector<double> row;
  row.reserve(at(values.cols()));
  for (int j = 0; j < values.cols(); ++j) row.push_back(values(i, j));
  return row;
}

Matrix from_rows(const std::vector<std::vector<double>>& rows, int columns) {
  Matrix out(static_cast<int>(rows.size()), columns);
  for (int i = 0; i < out.rows(); ++i) {
    for (int j = 0; j < columns; ++j) out(i, j) = rows[at(i)][at(j)];
  }
  return out;
}

Matrix shifted(Matrix values, std::span<const double> means) {
  for (int j = 0; j < values.cols(); ++j) {
    for (double& value : values.column(j)) value -= means[at(j)];
  }
  return values;
}

/// The gamma function of a positive integer, or of a half-integer.
double gamma_of_half(double x) {
  const bool is_whole = x == std::floor(x);
  double value = is_whole ? 1 : std::sqrt(std::numbers::pi);
  double at = is_whole ? 1 : 0.5;
  for (; at < x; ++at) value *= at;
  for (; at > x; --at) value /= at - 1;
  return value;
}

/// The thin plate spline's radial function, scaled so that the penalty is the integral of squared
/// derivatives.
RadialFunction thin_plate_function(int order, int dimensions) {
  const double half = dimensions / 2.0;
  RadialFunction function;
  function.power = 2 * order - dimensions;
  if (dimensions % 2 == 1) {
    function.scale = gamma_of_half(half - order) /
                     (base::pow(4.0, order) * base::pow(std::numbers::pi, half) * gamma_of_half(order));
    return function;
  }
  function.kind = RadialKind::power_log;
  function.scale = ((order + 1 + dimensions / 2) % 2 == 0 ? 1 : -1) /
                   (base::pow(2.0, 2 * order - 1) * base::pow(std::numbers::pi, half) * gamma_of_half(order) *
                    gamma_of_half(order - half + 1));
  return function;
}

double square_of_distance(const Matrix& a, int i, const Matrix& b, int j) {
  double square = 0;
  for (int v = 0; v < a.cols(); ++v) square += (a(i, v) - b(j, v)) * (a(i, v) - b(j, v));
  return square;
}

Matrix radial_matrix(HostTeam& team, const RadialFunction& function, const Matrix& points) {
  constexpr std::int64_t columns_at_once = 8;
  Matrix out(points.rows(), points.rows());
  team.for_each_block({0, out.cols()}, columns_at_once, [&](int /*thread*/, Range columns) {
    for (auto j = static_cast<int>(columns.begin); j < columns.end; ++j) {
      for (int i = 0; i <= j; ++i)
        out(i, j) = out(j, i) = radial_value(function, square_of_distance(points, i, points, j));
    }
  });
  return out;
}

/// `truncate` for an explicit E. `variables` is the multiplicity that eigenvalues may have if points are
/// symmetric.
Truncated truncate_matrix(HostTeam& team, const Matrix& e, int size, int variables) {
  return truncate(team, e.rows(), size, product_with(team, e), variables);
}

double polynomial(std::span<const int> powers, std::span<const double> u) {
  double value = 1;
  for (std::size_t v = 0; v < u.size(); ++v) {
    for (int p = 0; p < powers[v]; ++p) value *= u[v];
  }
  return value;
}

/// The radial functions, then the polynomials, at x.
std::vector<double> functions_at(const IsotropicColumns& columns, std::span<const double> x) {
  std::vector<double> u(x.begin(), x.end());
  for (std::size_t v = 0; v < u.size(); ++v) u[v] -= columns.shift[v];
  std::vector<double> out(at(columns.points.rows()));
  for (std::size_t v = 0; v < u.size(); ++v) {
    const auto points = columns.points.column(static_cast<int>(v));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += (u[v] - points[i]) * (u[v] - points[i]);
  }
  for (double& square : out) square = radial_value(columns.function, square);
  for (const std::vector<int>& powers : columns.powers) out.push_back(polynomial(powers, u));
  return out;
}

/// Columns of the model matrix at the rows of `values`: `functions_at` times `map`.
Matrix columns_at(HostTeam& team, const IsotropicColumns& columns, const Matrix& map, const Matrix& values) {
  constexpr std::int64_t rows_at_once = 256;
  Matrix out(values.rows(), map.cols());
  team.for_each_block({0, values.rows()}, rows_at_once, [&](int /*thread*/, Range rows) {
    const auto begin = static_cast<int>(rows.begin);
    Matrix functions(map.rows(), static_cast<int>(rows.size()));
    for (int i = 0; i < functions.cols(); ++i)
      std::ranges::copy(functions_at(columns, row_of(values, begin + i)), functions.column(i).begin());
    assign(out, begin, 0, multiply_tn(functions, map));
  });
  return out;
}

}  // namespace

Truncated truncate(HostTeam& team, int points, int size, const SymmetricProduct& multiply, int starts) {
  if (size == points) {
    Matrix all = identity(points);
    Matrix values(points, points);
    for (int j = 0; j < points; ++j) multiply(all.column(j), values.column(j));
    return {std::move(all), values, values};
  }
  SymmetricEigen eigen = extreme_eigen(team, points, size, multiply, starts);
  Matrix values = eigen.vectors;
  Matrix form(size, size);
  for (int j = 0; j < size; ++j) {
    form(j, j) = eigen.values[at(j)];
    for (double& value : values.column(j)) value *= form(j, j);
  }
  return {std::move(eigen.vectors), std::move(values), std::move(form)};
}

std::string text_in_r(double value) {
  constexpr int most_digits = 15;
  // Finds the digits without trailing zeros, and the power of ten, in a text such as 1.25000000000000e+02.
  const std::string all = fmt::format("{:.{}e}", std::abs(value), most_digits - 1);
  const std::size_t mark = all.find('e');
  int digits = most_digits;
  while (digits > 1 && all[at(digits)] == '0') --digits;
  const int power = std::stoi(all.substr(mark + 1));
  const int decimals = std::max(0, digits - 1 - power);
  const int fixed_width = std::max(power, 0) + 1 + (decimals > 0 ? decimals + 1 : 0);
  const int width = (digits > 1 ? digits + 1 : 1) + (std::abs(power) >= 100 ? 5 : 4);
  return fixed_width <= width ? fmt::format("{:.{}f}", value, decimals)
                              : fmt::format("{:.{}e}", value, digits - 1);
}

double mean_of(std::span<const double> values) {
  const auto count = static_cast<long double>(values.size());
  long double sum = 0;
  for (const double value : values) sum += value;
  const long double mean = sum / count;
  long double rest = 0;
  for (const double value : values) rest += value - mean;
  return static_cast<double>(mean + rest / count);
}

std::vector<double> means_of(const Matrix& values) {
  std::vector<double> means;
  for (int j = 0; j < values.cols(); ++j) means.push_back(mean_of(values.column(j)));
  return means;
}

Matrix distinct_points(const Matrix& values, std::span<const double> means, int most, std::uint32_t seed) {
  std::vector<std::vector<double>> distinct;
  for (int i = 0; i < values.rows(); ++i) distinct.push_back(row_of(values, i));
  if (values.rows() > most && values.cols() > 1) {
    std::map<std::string, int> texts;
    for (int i = 0; i < values.rows(); ++i) {
      std::string text;
      for (int j = 0; j < values.cols(); ++j)
        text += (j > 0 ? "*" : "") + text_in_r(values(i, j) - means[at(j)]);
      texts.emplace(std::move(text), i);
    }
    distinct.clear();
    for (const auto& one : texts) distinct.push_back(row_of(values, one.second));
  } else {
    std::ranges::sort(distinct);
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  }
  const auto count = static_cast<std::int32_t>(distinct.size());
  if (values.rows() <= most || count <= most) return from_rows(distinct, values.cols());
  std::vector<std::vector<double>> drawn;
  base::RRandom random(seed);
  for (const std::int32_t place : random.sample(count, most)) drawn.push_back(distinct[at(place)]);
  return from_rows(drawn, values.cols());
}

std::vector<std::vector<int>> polynomials_below(int degree, int variables) {
  std::vector<std::vector<int>> all;
  std::vector<int> powers(at(variables));
  for (;;) {
    all.push_back(powers);
    std::size_t v = 0;
    ++powers[0];
    while (std::accumulate(powers.begin(), powers.end(), 0) >= degree) {
      powers[v] = 0;
      if (++v == powers.size()) return all;
      ++powers[v];
    }
  }
}

Matrix null_columns(const Matrix& a) {
  constexpr double rounding = 1e-12;
  const int size = a.rows();
  Matrix reversed(size, a.cols());
  for (int j = 0; j < a.cols(); ++j) {
    const double least = rounding * largest(a.column(j));
    std::ranges::reverse_copy(a.column(j), reversed.column(j).begin());
    for (double& value : reversed.column(j)) value = std::abs(value) < least ? 0 : value;
  }
  const Matrix q = full_q(reversed);
  Matrix z(size, size - a.cols());
  for (int j = 0; j < z.cols(); ++j) std::ranges::reverse_copy(q.column(size - 1 - j), z.column(j).begin());
  return z;
}

void fix_signs(Matrix& z, const Matrix& values) {
  for (int j = 0; j < z.cols(); ++j) {
    const auto column = values.column(j);
    const double large = sign_threshold * largest(column);
    const auto first = std::ranges::find_if(column, [&](double value) { return std::abs(value) >= large; });
    if (!(*first < 0)) continue;
    for (double& value : z.column(j)) value = -value;
  }
}

Component isotropic_component(IsotropicColumns columns, const Matrix& map) {
  Component component;
  component.kind = Component::Kind::dense;
  component.combinations = Matrix(map.rows(), dense_columns(map.cols()));
  std::ranges::copy(map.values(), component.combinations.values().begin());
  component.others.resize(columns.shift.size() - 1);
  component.isotropic = std::move(columns);
  return component;
}

void evaluate_dense(const Component& component, std::span<const double> x, std::span<double> row) {
  const auto combine = [&](const auto& functions, int first) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      const double* weights = component.combinations.column(static_cast<int>(c)).data() + first;
      row[c] = std::inner_product(functions.begin(), functions.end(), weights, 0.0);
    }
  };
  if (component.isotropic) return combine(functions_at(*component.isotropic, x), 0);
  const LocalValues local = evaluate(component.margin, x[0]);
  combine(local.values, local.first);
}

namespace {

Matrix polynomials_at_points(const IsotropicColumns& columns) {
  Matrix out(columns.points.rows(), static_cast<int>(columns.powers.size()));
  for (int j = 0; j < out.cols(); ++j) {
    for (int i = 0; i < out.rows(); ++i)
      out(i, j) = polynomial(columns.powers[at(j)], row_of(columns.points, i));
  }
  return out;
}

/// A basis of radial columns with the given weights and penalty, followed by unpenalised polynomials. With
/// `of_unit_size`, all columns except the constant are scaled to a mean square of one over `values`.
Basis isotropic_basis(HostTeam& team, IsotropicColumns columns, const Matrix& weights, const Matrix& penalty,
                      const Matrix& values, bool of_unit_size) {
  const int count = weights.rows();
  const int penalised = weights.cols();
  const int free = static_cast<int>(columns.powers.size());
  const int size = penalised + free;
  Matrix map(count + free, size);
  for (int j = 0; j < penalised; ++j) std::ranges::copy(weights.column(j), map.column(j).begin());
  for (int j = 0; j < free; ++j) map(count + j, penalised + j) = 1;
  Matrix x = columns_at(team, columns, map, values);
  std::vector<double> scale(at(size), 1.0);
  for (int j = 0; j < size && of_unit_size; ++j) {
    if (j != penalised) scale[at(j)] = std::sqrt(dot(x.column(j), x.column(j)) / values.rows());
  }
  for (int j = 0; j < size; ++j) {
    for (double& value : map.column(j)) value /= scale[at(j)];
    for (double& value : x.column(j)) value = std::abs(value) / scale[at(j)];
  }

  Basis basis;
  basis.component = isotropic_component(std::move(columns), map);
  basis.penalty = Matrix(size, size);
  for (int j = 0; j < penalised; ++j) {
    for (int i = 0; i < penalised; ++i) basis.penalty(i, j) = penalty(i, j) / scale[at(i)] / scale[at(j)];
  }
  basis.rank = penalised;
  basis.constant.resize(at(size));
  basis.constant[at(penalised)] = 1;
  basis.map = Matrix(basis.component.raw_size(), size);
  for (int j = 0; j < size; ++j) basis.map(j, j) = 1;
  basis.row_sum = largest(multiply(x, std::vector<double>(at(size), 1)));
  return basis;
}

IsotropicColumns columns_of(RadialFunction function, const Matrix& points, std::span<const double> means,
                            int degree) {
  return {function,
          shifted(points, means),
          {means.begin(), means.end()},
          polynomials_below(degree, points.cols())};
}

/// A basis whose radial columns are the truncated functions times Z, with fixed signs.
Basis basis_of_columns(HostTeam& team, IsotropicColumns columns, const Truncated& truncated, Matrix z,
                       const Matrix& values, bool of_unit_size) {
  fix_signs(z, multiply(truncated.values, z));
  const Matrix penalty = symmetrised(multiply_tn(z, multiply(truncated.form, z)));
  return isotropic_basis(team, std::move(columns), multiply(truncated.weights, z), penalty, values,
                         of_unit_size);
}

}  // namespace

Basis isotropic_thin_plate(HostTeam& team, const Matrix& values, const Matrix& points,
                           std::span<const double> means, int order, int size) {
  IsotropicColumns columns = columns_of(thin_plate_function(order, values.cols()), points, means, order);
  const Truncated truncated =
      truncate_matrix(team, radial_matrix(team, columns.function, columns.points), size, values.cols());
  // Makes the weights of the points orthogonal to the unpenalised polynomials.
  Matrix z = null_columns(multiply_tn(truncated.weights, polynomials_at_points(columns)));
  return basis_of_columns(team, std::move(columns), truncated, std::move(z), values, true);
}

Basis duchon_spline(HostTeam& team, const Matrix& values, const Matrix& points, std::span<const double> means,
                    int order, int power, int size) {
  RadialFunction function{power % 2 == 0 ? RadialKind::power_log : RadialKind::power, power};
  function.scale = (power / 2 + 1) % 2 == 0 ? 1 : -1;
  IsotropicColumns columns = columns_of(function, points, means, order);
  const Truncated truncated =
      truncate_matrix(team, radial_matrix(team, columns.function, columns.points), size, values.cols());
  const int free = static_cast<int>(columns.powers.size());
  const Matrix q = full_q(multiply_tn(truncated.weights, polynomials_at_points(columns)));
  return basis_of_columns(team, std::move(columns), truncated, submatrix(q, 0, size, free, size - free),
                          values, false);
}

Basis gaussian_process(HostTeam& team, const Matrix& values, const Matrix& points,
                       std::span<const double> means, RadialFunction function, bool stationary, int size) {
  IsotropicColumns columns = columns_of(function, points, means, stationary ? 1 : 2);
  if (!(function.scale > 0)) {
    double square = 0;
    for (int i = 0; i < points.rows(); ++i) {
      for (int j = 0; j < i; ++j)
        square = std::max(square, square_of_distance(columns.points, i, columns.points, j));
    }
    columns.function.scale = 1 / std::sqrt(square);
  }
  const int penalised = size - static_cast<int>(columns.powers.size());
  const Truncated truncated =
      truncate_matrix(team, radial_matrix(team, columns.function, columns.points), penalised, values.cols());
  return basis_of_columns(team, std::move(columns), truncated, identity(penalised), values, false);
}

Basis without_null_space(Basis basis, const Matrix& values) {
  const int size = basis.rank;
  std::vector<double> row(at(size));
  std::vector<double> means(at(size));
  for (int i = 0; i < values.rows(); ++i) {
    evaluate_dense(basis.component, row_of(values, i), row);
    add_multiple(means, 1.0 / values.rows(), row);
  }
  const auto one = std::ranges::find(basis.constant, 1.0) - basis.constant.begin();
  Matrix map = submatrix(basis.map, 0, basis.map.rows(), 0, size);
  for (int j = 0; j < size; ++j) map(static_cast<int>(one), j) = -means[at(j)];
  basis.map = std::move(map);
  basis.penalty = submatrix(basis.penalty, 0, size, 0, size);
  double most = 0;
  for (int i = 0; i < values.rows(); ++i) {
    evaluate_dense(basis.component, row_of(values, i), row);
    double sum = 0;
    for (int j = 0; j < size; ++j) sum += std::abs(row[at(j)] - means[at(j)]);
    most = std::max(most, sum);
  }
  basis.row_sum = most;
  basis.constant.clear();
  return basis;
}

}  // namespace TESSERA_NAMESPACE::gam
