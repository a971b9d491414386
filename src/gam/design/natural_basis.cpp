// SPDX-License-Identifier: Apache-2.0
#include "gam/design/natural_basis.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// x R^-1, where R = L' diag(scale).
Matrix without_root(const Matrix& x, const Matrix& lower, std::span<const double> scale) {
  Matrix rows = transpose(x);
  for (int j = 0; j < rows.cols(); ++j) {
    for (int i = 0; i < rows.rows(); ++i) rows(i, j) /= scale[at(i)];
  }
  return transpose(triangular_solve(lower, rows, false));
}

/// Rotates orthonormal columns by Gram-Schmidt on the projections of unit vectors on their span. The first
/// unit vector comes first, unless its projection is nearly zero; then, in turn, the one with the largest
/// residual.
Matrix rotated_to_axes(const Matrix& w) {
  constexpr double too_short = 1e-3;
  Matrix rest = transpose(w);  // column j is the projection of unit vector j
  Matrix rotation(w.cols(), w.cols());
  for (int c = 0; c < rotation.cols(); ++c) {
    const auto length = [&](int j) { return std::sqrt(dot(rest.column(j), rest.column(j))); };
    int longest = 0;
    for (int j = 1; j < rest.cols(); ++j) longest = length(j) > length(longest) ? j : longest;
    const int next = c == 0 && length(0) > too_short * length(longest) ? 0 : longest;
    const double own = length(next);
    for (int i = 0; i < rotation.rows(); ++i) rotation(i, c) = rest(i, next) / own;
    for (int j = 0; j < rest.cols(); ++j)
      add_multiple(rest.column(j), -dot(rotation.column(c), rest.column(j)), rotation.column(c));
  }
  return multiply(w, rotation);
}

/// Eigendecomposition of the penalty divided by its largest element.
SymmetricEigen eigen_of_penalty(const Basis& basis) {
  Matrix unit = basis.penalty;
  // Scaled first: squares of the elements may overflow in the variable's units.
  const double size = largest(unit.values());
  for (double& value : unit.values()) value /= size;
  return symmetric_eigen(unit);
}

Matrix null_vectors(const Basis& basis) {
  return submatrix(eigen_of_penalty(basis).vectors, 0, basis.size(), 0, basis.size() - basis.rank);
}

void scale_column(Matrix& a, int column, double factor) {
  for (double& value : a.column(column)) value *= factor;
}

/// A rotation of the unpenalised columns: first the constant, with coefficients `constant`, then uncorrelated
/// columns by ascending variance. `products`: the mean products of the columns.
Matrix rotation_to_constant(const Matrix& products, std::span<const double> constant) {
  const int size = products.rows();
  Matrix first(size, 1);
  std::ranges::copy(constant, first.data());
  const Matrix q = full_q(first);
  const Matrix others = submatrix(q, 0, size, 1, size - 1);
  const std::vector<double> means = multiply(products, constant);
  Matrix covariance = products;
  for (int j = 0; j < size; ++j) add_multiple(covariance.column(j), -means[at(j)], means);
  Matrix rotation(size, size);
  const double length = std::sqrt(dot(constant, constant));
  for (int i = 0; i < size; ++i) rotation(i, 0) = constant[at(i)] / length;
  const SymmetricEigen eigen =
      symmetric_eigen(symmetrised(multiply_tn(others, multiply(covariance, others))));
  assign(rotation, 0, 1, multiply(others, eigen.vectors));
  return rotation;
}

}  // namespace

Basis natural_basis(Basis basis, const std::function<Matrix(const Matrix& map)>& mean_products,
                    const std::string& label) {
  const int size = basis.size();
  const int free = size - basis.rank;
  const Matrix map = basis.map.empty() ? identity(size) : basis.map;
  Matrix root = identity(size);     // R of X = Q R
  Matrix inverse = identity(size);  // R^-1
  for (int pass = 0; pass < 2; ++pass) {
    Matrix products = mean_products(multiply(map, inverse));
    const std::vector<double> scale = diagonal_roots(products);
    unscale(products, scale);
    const auto lower = cholesky(products);
    if (!lower)
      throw base::input_error(
          "{}: its basis functions are linearly dependent in the rows of the table: take a smaller k", label);
    inverse = without_root(inverse, *lower, scale);
    Matrix step = transpose(*lower);
    for (int j = 0; j < size; ++j) {
      for (double& value : step.column(j)) value *= scale[at(j)];
    }
    root = multiply(step, root);
  }

  const Matrix q = free == 0 ? identity(size) : full_q(multiply(root, null_vectors(basis)));
  const Matrix penalised = submatrix(q, 0, size, free, basis.rank);
  const SymmetricEigen eigen = [&] {
    const Matrix half = multiply(inverse, penalised);
    return symmetric_eigen(symmetrised(multiply_tn(half, multiply(basis.penalty, half))));
  }();
  double sum = 0;  // sum of the columns' mean squares
  Matrix change(size, size);
  const Matrix directions = multiply(penalised, eigen.vectors);
  for (int j = 0; j < basis.rank; ++j) {
    const int from = basis.rank - 1 - j;
    const double own = eigen.values[at(from)];
    if (!(own > 0))
      throw base::input_error("{}: its penalty is numerically singular: take a smaller k", label);
    sum += 1 / own;
    add_multiple(change.column(j), 1 / std::sqrt(own), directions.column(from));
  }
  const double square = basis.rank / sum;
  for (int j = 0; j < basis.rank; ++j) {
    for (double& value : change.column(j)) value *= std::sqrt(square);
  }
  if (free > 0) assign(change, 0, basis.rank, rotated_to_axes(submatrix(q, 0, size, 0, free)));

  basis.natural = multiply(inverse, change);
  basis.map = multiply(map, basis.natural);
  basis.penalty = Matrix(size, size);
  for (int j = 0; j < basis.rank; ++j) basis.penalty(j, j) = square;
  basis.unit_rows = false;
  basis.row_sum.reset();
  return basis;
}

Basis natural_margin(Basis basis, const std::function<Matrix(const Matrix& map)>& mean_products,
                     const std::string& label) {
  const int size = basis.size();
  const int rank = basis.rank;
  const int free = size - rank;
  Matrix change = identity(size);
  const Matrix vectors = free > 0 ? rotated_to_axes(null_vectors(basis)) : Matrix();
  if (!basis.penalty.empty()) {
    const SymmetricEigen eigen = eigen_of_penalty(basis);
    for (int j = 0; j < rank; ++j) {
      const int from = size - 1 - j;
      std::ranges::copy(eigen.vectors.column(from), change.column(j).begin());
      const double own = eigen.values[at(from)];
      if (!(own > 0))
        throw base::input_error("{}: the penalty of a margin is numerically singular: take a smaller k",
                                label);
      scale_column(change, j, 1 / std::sqrt(own));
    }
    if (free > 0) assign(change, 0, rank, vectors);
  }
  const Matrix map = basis.map.empty() ? identity(size) : basis.map;
  const Matrix products = mean_products(multiply(map, change));
  double square = 0;  // mean square of the penalised columns
  for (int j = 0; j < rank; ++j) square += products(j, j) / rank;
  for (int j = 0; j < size; ++j) {
    const double own = j < rank ? square : products(j, j);
    if (!(own > 0))
      throw base::input_error(
          "{}: one of its basis functions is zero in every row: take a smaller k, or leave the term out",
          label);
    scale_column(change, j, 1 / std::sqrt(own));
  }

  std::vector<double> constant(at(size));
  if (free > 0) {
    if (basis.constant.empty()) basis.constant.assign(at(size), 1);
    std::vector<double> own = multiply_t(vectors, basis.constant);
    Matrix scaled(free, free);
    for (int j = 0; j < free; ++j) {
      const double length = std::sqrt(products(rank + j, rank + j));
      own[at(j)] *= length;
      for (int i = 0; i < free; ++i)
        scaled(i, j) = products(rank + i, rank + j) / length / std::sqrt(products(rank + i, rank + i));
    }
    if (free > 1) {
      assign(change, 0, rank,
             multiply(submatrix(change, 0, size, rank, free), rotation_to_constant(scaled, own)));
      own[0] = std::sqrt(dot(own, own));
    }
    constant[at(rank)] = own[0];
  }
  basis.constant = std::move(constant);
  basis.map = multiply(map, change);
  basis.natural = std::move(change);
  basis.penalty = Matrix(size, size);
  for (int j = 0; j < rank; ++j) basis.penalty(j, j) = 1;
  basis.unit_rows = false;
  basis.row_sum.reset();
  return basis;
}

}  // namespace TESSERA_NAMESPACE::gam
