// SPDX-License-Identifier: Apache-2.0
#include "smooth.hpp"

#include "linalg.hpp"
#include "submatrix.hpp"

#include <tessera/error.hpp>

#include <algorithm>
#include <cmath>

namespace tessera::fit {
namespace {

/// A margin's penalty by its eigenvectors, the ones it annihilates first and with eigenvalue exactly zero.
struct MarginPenalty {
  Matrix matrix;
  SymmetricEigen eigen;
  int null_dimension;
};

MarginPenalty decompose(const Basis& margin, bool normalise) {
  if (margin.component.kind != Component::Kind::spline) {
    // A random effect's identity, of as many levels as there may be, needs no decomposition.
    return {margin.penalty,
            {std::vector<double>(static_cast<std::size_t>(margin.size()), 1.0), margin.penalty},
            0};
  }
  // Squares of its elements, which the decomposition forms, may be beyond all numbers in the variable's
  // units.
  double largest_element = 0;
  for (const double value : margin.penalty.values())
    largest_element = std::max(largest_element, std::abs(value));
  const double unit = std::ldexp(1.0, std::ilogb(largest_element));
  Matrix scaled = margin.penalty;
  for (double& value : scaled.values()) value /= unit;
  MarginPenalty out{margin.penalty, symmetric_eigen(scaled), margin.size() - margin.rank};
  for (double& value : out.eigen.values) value *= unit;
  std::fill_n(out.eigen.values.begin(), out.null_dimension, 0.0);
  if (normalise) {
    const double largest = out.eigen.values.back();
    for (double& value : out.matrix.values()) value /= largest;
    for (double& value : out.eigen.values) value /= largest;
  }
  return out;
}

double largest_column_sum(const Matrix& a) {
  double largest = 0;
  for (int j = 0; j < a.cols(); ++j) {
    double sum = 0;
    for (const double value : a.column(j)) sum += std::abs(value);
    largest = std::max(largest, sum);
  }
  return largest;
}

Matrix first_columns(const Matrix& a, int count) {
  Matrix out(a.rows(), count);
  std::copy_n(a.data(), out.values().size(), out.data());
  return out;
}

/// Eigenvalues of every Kronecker product of the margins' eigenvectors that some penalty does not annihilate.
Matrix joint_eigenvalues(std::span<const MarginPenalty> margins, std::span<const double> s_scale) {
  int size = 1;
  int null_dimension = 1;
  for (const MarginPenalty& margin : margins) {
    size *= margin.matrix.rows();
    null_dimension *= margin.null_dimension;
  }
  const int count = static_cast<int>(margins.size());
  Matrix eigenvalues(size - null_dimension, count);
  int row = 0;
  for (int product = 0; product < size; ++product) {
    bool annihilated = true;
    int rest = product;
    std::vector<double> values(margins.size());
    for (std::size_t m = margins.size(); m-- > 0;) {
      const int place = rest % margins[m].matrix.rows();
      rest /= margins[m].matrix.rows();
      values[m] = margins[m].eigen.values[static_cast<std::size_t>(place)] / s_scale[m];
      annihilated = annihilated && place < margins[m].null_dimension;
    }
    if (annihilated) continue;
    for (int m = 0; m < count; ++m) eigenvalues(row, m) = values[static_cast<std::size_t>(m)];
    ++row;
  }
  return eigenvalues;
}

}  // namespace

SmoothBasis combine(std::span<const Basis> margins, bool tensor, double largest_row_sum) {
  std::vector<MarginPenalty> penalties;
  for (const Basis& margin : margins) penalties.push_back(decompose(margin, tensor));

  SmoothBasis smooth;
  smooth.map = identity(1);
  smooth.null_space = identity(1);
  for (std::size_t m = 0; m < margins.size(); ++m) {
    smooth.map = kronecker(smooth.map, margins[m].map);
    smooth.null_space =
        kronecker(smooth.null_space, first_columns(penalties[m].eigen.vectors, penalties[m].null_dimension));
    Matrix penalty = identity(1);
    for (std::size_t other = 0; other < margins.size(); ++other) {
      penalty = kronecker(penalty, other == m ? penalties[m].matrix : identity(margins[other].size()));
    }
    const double scale = largest_column_sum(penalty) / (largest_row_sum * largest_row_sum);
    for (double& value : penalty.values()) value /= scale;
    smooth.penalties.push_back(std::move(penalty));
    smooth.s_scale.push_back(scale);
    smooth.knots.push_back(margins[m].knots);
  }
  smooth.eigenvalues = joint_eigenvalues(penalties, smooth.s_scale);
  return smooth;
}

Constraint sum_to_zero(std::span<const double> means, const Matrix& null_space) {
  const int size = static_cast<int>(means.size());
  const double length = std::sqrt(dot(means, means));
  if (!(length > 0)) {
    throw Error(ErrorCode::input, "a smooth is zero in every row: check its by= variable");
  }
  Matrix column(size, 1);
  for (int i = 0; i < size; ++i) column(i, 0) = means[static_cast<std::size_t>(i)];
  const Matrix q = full_q(column);
  Constraint constraint{Matrix(size, size - 1), 0, {}};
  std::copy(q.values().begin() + size, q.values().end(), constraint.z.values().begin());
  const std::vector<double> projected = multiply_t(null_space, means);
  constraint.log_det_constant = 2 * std::log(std::sqrt(dot(projected, projected)) / length);
  const int dimension = null_space.cols();
  if (dimension == 0) return constraint;
  Matrix along(dimension, 1);
  std::copy(projected.begin(), projected.end(), along.values().begin());
  const Matrix turn = full_q(along);
  constraint.null_space = multiply(null_space, submatrix(turn, 0, dimension, 1, dimension - 1));
  return constraint;
}

}  // namespace tessera::fit
