// SPDX-License-Identifier: Apache-2.0
#include "gam/design/natural_basis.hpp"

#include "base/at.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <tessera/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera::gam {
namespace {

using base::at;

/// x R^-1, with R = L' scale.
Matrix without_root(const Matrix& x, const Matrix& lower, std::span<const double> scale) {
  Matrix rows = transpose(x);
  for (int j = 0; j < rows.cols(); ++j) {
    for (int i = 0; i < rows.rows(); ++i) rows(i, j) /= scale[at(i)];
  }
  return transpose(triangular_solve(lower, rows, false));
}

/// An orthonormal basis of the space that the orthonormal columns of `w` span: the projections of unit
/// vectors on it, of the first and then of those of which most is left.
Matrix turned_to_axes(const Matrix& w) {
  constexpr double too_short = 1e-3;
  Matrix rest = transpose(w);  // column j is the projection of unit vector j
  Matrix turn(w.cols(), w.cols());
  for (int c = 0; c < turn.cols(); ++c) {
    const auto length = [&](int j) { return std::sqrt(dot(rest.column(j), rest.column(j))); };
    int longest = 0;
    for (int j = 1; j < rest.cols(); ++j) longest = length(j) > length(longest) ? j : longest;
    const int next = c == 0 && length(0) > too_short * length(longest) ? 0 : longest;
    const double own = length(next);
    for (int i = 0; i < turn.rows(); ++i) turn(i, c) = rest(i, next) / own;
    for (int j = 0; j < rest.cols(); ++j)
      add_multiple(rest.column(j), -dot(turn.column(c), rest.column(j)), turn.column(c));
  }
  return multiply(w, turn);
}

/// Vectors that the penalty does not see, orthonormal in their own coordinates.
Matrix null_vectors(const Basis& basis) {
  Matrix unit = basis.penalty;
  // Squares of the elements may be beyond all numbers in the variable's units.
  const double size = largest(unit.values());
  for (double& value : unit.values()) value /= size;
  return submatrix(symmetric_eigen(unit).vectors, 0, basis.size(), 0, basis.size() - basis.rank);
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
      throw Error(ErrorCode::input,
                  fmt::format("{}: the functions of its curves are linearly dependent over the rows: take a "
                              "smaller k",
                              label));
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
  double sum = 0;  // of mean squares
  Matrix turn(size, size);
  const Matrix directions = multiply(penalised, eigen.vectors);
  for (int j = 0; j < basis.rank; ++j) {
    const int from = basis.rank - 1 - j;
    const double own = eigen.values[at(from)];
    if (!(own > 0))
      throw Error(ErrorCode::input,
                  fmt::format("{}: the penalty of its curves is lost in rounding: take a smaller k", label));
    sum += 1 / own;
    add_multiple(turn.column(j), 1 / std::sqrt(own), directions.column(from));
  }
  const double square = basis.rank / sum;
  for (int j = 0; j < basis.rank; ++j) {
    for (double& value : turn.column(j)) value *= std::sqrt(square);
  }
  if (free > 0) assign(turn, 0, basis.rank, turned_to_axes(submatrix(q, 0, size, 0, free)));

  basis.map = multiply(map, multiply(inverse, turn));
  basis.penalty = Matrix(size, size);
  for (int j = 0; j < basis.rank; ++j) basis.penalty(j, j) = square;
  basis.unit_rows = false;
  basis.row_sum.reset();
  return basis;
}

}  // namespace tessera::gam
