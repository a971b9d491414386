// SPDX-License-Identifier: Apache-2.0
#include "gam/reml/penalty_basis.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "base/math/elementary.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

double frobenius(const Matrix& a) {
  return std::sqrt(dot(a.values(), a.values()));
}

void add(Matrix& sum, const Matrix& a, double factor) {
  for (std::size_t i = 0; i < sum.values().size(); ++i) sum.values()[i] += factor * a.values()[i];
}

SymmetricEigen descending_eigen(const Matrix& a) {
  SymmetricEigen eigen = symmetric_eigen(a);
  std::reverse(eigen.values.begin(), eigen.values.end());
  for (int j = 0, k = a.cols() - 1; j < k; ++j, --k) {
    std::swap_ranges(eigen.vectors.column(j).begin(), eigen.vectors.column(j).end(),
                     eigen.vectors.column(k).begin());
  }
  return eigen;
}

Matrix congruence(const Matrix& a, const Matrix& v) {
  return multiply_tn(v, multiply(a, v));
}

/// The smallest nonzero eigenvalue of a penalty of rank `rank`, relative to the largest.
double spread_of(const Matrix& penalty, int rank) {
  const std::vector<double> values = symmetric_eigen(penalty).values;
  return values[values.size() - base::at(rank)] / values.back();
}

void take_common(BlockBasis& basis) {
  const Penalty& penalty = *basis.penalty;
  basis.rotation = Matrix(basis.size, basis.size);
  assign(basis.rotation, 0, 0, penalty.eigenvectors);
  assign(basis.rotation, 0, basis.rank, penalty.null_space);
  basis.log_det = 2 * log_abs_determinant(basis.rotation);
  auto inverse = solve(basis.rotation, identity(basis.size));
  if (!inverse) throw std::logic_error("penalty_basis: the common eigenvectors of penalties are dependent");
  basis.inverse = std::move(*inverse);
  for (int j = 0; j < basis.penalties(); ++j) {
    const auto values = penalty.eigenvalues.column(j);
    basis.diagonals.emplace_back(values.begin(), values.end());
  }
}

[[noreturn]] void refuse_rank(const CoefBlock& block) {
  throw base::input_error(
      "the penalty of {} cannot be computed in double precision, because the distances of the knots differ "
      "by orders of magnitude: transform the variable, for example s(log(x)), or use bs=\"ps\"",
      block.label);
}

/// Eigenvectors by descending eigenvalue. Throws unless exactly `rank` eigenvalues are nonzero.
SymmetricEigen eigen_of_rank(const Matrix& sum, int rank, const CoefBlock& block) {
  SymmetricEigen eigen = descending_eigen(sum);
  if (!(eigen.values[base::at(rank) - 1] > 0) ||
      (rank < sum.rows() && eigen.values[base::at(rank)] > 1e-9 * eigen.values.front()))
    refuse_rank(block);
  return eigen;
}

/// Basis of a factor smooth: penalised functions of each level in turn, then unpenalised functions.
void take_levels(BlockBasis& basis, const CoefBlock& block) {
  const Penalty& penalty = *basis.penalty;
  const int rank = penalty.rank_of_level;
  const int size = penalty.of_level.rows();
  const SymmetricEigen eigen = eigen_of_rank(penalty.of_level, rank, block);
  const Matrix range = submatrix(eigen.vectors, 0, size, 0, rank);
  const Matrix rest = submatrix(eigen.vectors, 0, size, rank, size - rank);
  basis.rotation = Matrix(basis.size, basis.size);
  for (int level = 0; level < penalty.levels.rows(); ++level) {
    assign(basis.rotation, level * size, level * rank, range);
    assign(basis.rotation, level * size, basis.rank + level * (size - rank), rest);
  }
  basis.of_level.assign(eigen.values.begin(), eigen.values.begin() + rank);
  for (int j = 0; j < penalty.levels.cols(); ++j) {
    const Matrix own = submatrix(penalty.levels, 0, penalty.levels.rows(), j, 1);
    basis.dense.push_back(multiply_nt(own, own));
    basis.spread.push_back(1);
  }
}

BlockBasis block_basis(const CoefBlock& block, int first_sp) {
  const Penalty& penalty = *block.penalty;
  BlockBasis basis;
  basis.begin = block.coef_begin;
  basis.size = block.coef_size;
  basis.rank = penalty.rank();
  basis.first_sp = first_sp;
  basis.penalty = &penalty;
  const bool single = basis.penalties() == 1;
  if (basis.penalties() == 0) return basis;
  if (basis.rank < 1 || basis.rank > basis.size) {
    throw std::logic_error(
        fmt::format("the penalty of {} has the impossible rank {}", block.label, basis.rank));
  }

  if (penalty.is_diagonal()) {
    for (int j = 0; j < basis.penalties(); ++j) {
      const auto own = penalty.eigenvalues.column(j);
      basis.diagonals.emplace_back(own.begin(), own.end());
    }
    return basis;
  }
  if (!single && !penalty.eigenvectors.empty()) {
    take_common(basis);
    return basis;
  }
  if (!penalty.of_level.empty()) {
    take_levels(basis, block);
    return basis;
  }

  const auto take_dense = [&](const Matrix& range) {
    for (std::size_t j = 0; j < penalty.matrices.size(); ++j) {
      basis.dense.push_back(congruence(penalty.matrices[j], range));
      basis.spread.push_back(spread_of(basis.dense.back(), penalty.rank_of(j)));
    }
  };
  if (penalty.orthogonal_columns) {
    // Keep the columns: penalised ones come first already, and columns of different sizes must not be mixed.
    if (single)
      basis.diagonals.emplace_back(penalty.eigenvalues.values().begin(), penalty.eigenvalues.values().end());
    else
      take_dense(submatrix(identity(basis.size), 0, basis.size, 0, basis.rank));
    return basis;
  }
  Matrix sum(basis.size, basis.size);
  for (const Matrix& s : penalty.matrices) add(sum, s, single ? 1.0 : 1 / frobenius(s));
  SymmetricEigen eigen = eigen_of_rank(sum, basis.rank, block);
  basis.rotation = std::move(eigen.vectors);
  if (single) {
    basis.diagonals.emplace_back(eigen.values.begin(), eigen.values.begin() + basis.rank);
  } else {
    take_dense(submatrix(basis.rotation, 0, basis.size, 0, basis.rank));
  }
  return basis;
}

}  // namespace

std::vector<double> BlockBasis::smoothing_parameters(std::span<const double> log_sp) const {
  std::vector<double> lambda(penalty->count());
  for (std::size_t j = 0; j < lambda.size(); ++j) lambda[j] = base::exp(log_sp[base::at(first_sp) + j]);
  return lambda;
}

std::vector<BlockBasis> penalty_bases(const Design& design) {
  std::vector<BlockBasis> bases;
  int first_sp = 0;
  for (const CoefBlock& block : design.blocks) {
    if (!block.penalty) continue;
    bases.push_back(block_basis(block, first_sp));
    first_sp += bases.back().penalties();
  }
  return bases;
}

GradedPenalties grade_penalties(const BlockBasis& basis, std::span<const double> lambda,
                                const Algebra& algebra) {
  // Penalties within a factor `comparable` of the largest are summed as one: the sum keeps the digits of
  // each. The weight of a penalty is reduced if its smallest relative eigenvalue is below `narrow`.
  const double comparable = base::pow(epsilon, 1.0 / 3);
  constexpr double narrow = 1e-4;
  const int size = basis.dense.front().rows();
  GradedPenalties out{{}, basis.dense};
  std::vector<std::size_t> waiting(basis.dense.size());
  for (std::size_t j = 0; j < waiting.size(); ++j) waiting[j] = j;

  std::vector<bool> taken(basis.dense.size());

  for (int done = 0; done < size;) {
    const int left = size - done;
    std::vector<Matrix> rest;
    std::vector<double> norms;
    double largest = 0;
    for (const std::size_t j : waiting) {
      rest.push_back(submatrix(out.penalties[j], done, left, done, left));
      norms.push_back(frobenius(rest.back()));
      largest = std::max(largest, lambda[j] * norms.back());
    }
    std::vector<std::size_t> dominant;
    std::vector<std::size_t> dominated;
    Matrix sum(left, left);
    for (std::size_t k = 0; k < waiting.size(); ++k) {
      const double weight = lambda[waiting[k]] * norms[k];
      const double share = std::clamp(basis.spread[waiting[k]] / narrow, epsilon, 1.0);
      if (weight == largest || weight * share >= comparable * largest) {
        dominant.push_back(waiting[k]);
        taken[waiting[k]] = true;
        add(sum, rest[k], 1 / norms[k]);
      } else {
        dominated.push_back(waiting[k]);
      }
    }
    if (dominated.empty() || largest == 0) break;

    const SymmetricEigen eigen = descending_eigen(sum);
    Matrix rotation = identity(size);
    assign(rotation, done, done, eigen.vectors);
    const Matrix back = transpose(rotation);
    for (Matrix& s : out.penalties) s = algebra.multiply(back, algebra.multiply(s, rotation));
    out.rotation = out.rotation.empty() ? std::move(rotation) : algebra.multiply(out.rotation, rotation);
    done = basis.penalty->rank_of(taken) / basis.copies();
    for (const std::size_t j : dominant) {
      for (int c = 0; c < size; ++c) {
        for (int r = 0; r < size; ++r) {
          if (std::max(r, c) >= done) out.penalties[j](r, c) = 0;
        }
      }
    }
    waiting = dominated;
  }
  return out;
}

namespace {

/// Adds the terms of a block whose penalties are diagonal in the coordinates of its basis.
void add_commuting(const BlockBasis& basis, std::span<const double> lambda, PenaltyDeterminant& total) {
  const Penalty& penalty = *basis.penalty;
  const int count = basis.penalties();
  total.value += penalty.log_det_constant + basis.log_det;
  std::vector<double> share(lambda.size());
  for (int i = 0; i < penalty.eigenvalues.rows(); ++i) {
    double sum = 0;
    for (int j = 0; j < count; ++j) {
      const auto at = base::at(j);
      share[at] = lambda[at] * penalty.eigenvalues(i, j);
      sum += share[at];
    }
    total.value += base::log(sum);
    for (int j = 0; j < count; ++j) {
      const int row = basis.first_sp + j;
      const double own = share[base::at(j)] / sum;
      total.gradient[base::at(row)] += own;
      total.hessian(row, row) += own;
      for (int k = 0; k < count; ++k) {
        total.hessian(row, basis.first_sp + k) -= own * share[base::at(k)] / sum;
      }
    }
  }
}

double trace_of_product(const Matrix& a, const Matrix& b) {
  double sum = 0;
  for (int j = 0; j < a.cols(); ++j) {
    for (int i = 0; i < a.rows(); ++i) sum += a(i, j) * b(j, i);
  }
  return sum;
}

/// Adds the terms of a block by factoring its graded sum: d = tr(S^-1 S_j), d2 = -tr(S^-1 S_j S^-1 S_k),
/// plus d if j = k; S_j includes its lambda. False if the sum cannot be factored.
bool add_graded(const BlockBasis& basis, std::span<const double> lambda, const Algebra& algebra,
                PenaltyDeterminant& total) {
  GradedPenalties graded = grade_penalties(basis, lambda, algebra);
  const int rank = basis.dense.front().rows();
  const int copies = basis.copies();
  Matrix sum(rank, rank);
  for (std::size_t j = 0; j < lambda.size(); ++j) {
    for (double& value : graded.penalties[j].values()) value *= lambda[j];
    add(sum, graded.penalties[j], 1);
  }
  std::vector<double> scale;
  for (int i = 0; i < rank; ++i) {
    if (!(sum(i, i) > 0)) return false;
    scale.push_back(std::sqrt(sum(i, i)));
    total.value += copies * 2 * base::log(scale.back());
  }
  for (const double value : basis.of_level) total.value += rank * base::log(value);
  unscale(sum, scale);
  const auto lower = cholesky(sum);
  if (!lower) return false;
  for (int i = 0; i < rank; ++i) total.value += copies * 2 * base::log((*lower)(i, i));

  const Matrix inverse = cholesky_inverse(*lower);
  std::vector<Matrix> products;
  for (Matrix& s : graded.penalties) {
    unscale(s, scale);
    products.push_back(algebra.multiply(inverse, s));
  }
  for (int j = 0; j < basis.penalties(); ++j) {
    const int row = basis.first_sp + j;
    const Matrix& own = products[base::at(j)];
    double trace = 0;
    for (int i = 0; i < rank; ++i) trace += own(i, i);
    total.gradient[base::at(row)] += copies * trace;
    total.hessian(row, row) += copies * trace;
    for (int k = 0; k <= j; ++k) {
      const int column = basis.first_sp + k;
      const double both = copies * trace_of_product(own, products[base::at(k)]);
      total.hessian(row, column) -= both;
      if (k < j) total.hessian(column, row) -= both;
    }
  }
  return true;
}

}  // namespace

std::optional<PenaltyDeterminant> penalty_determinant(const std::vector<BlockBasis>& bases,
                                                      std::span<const double> log_sp,
                                                      const Algebra& algebra) {
  const int count = static_cast<int>(log_sp.size());
  PenaltyDeterminant total{0, std::vector<double>(log_sp.size()), Matrix(count, count)};
  for (const BlockBasis& basis : bases) {
    const std::vector<double> lambda = basis.smoothing_parameters(log_sp);
    if (basis.penalty->commutes()) {
      add_commuting(basis, lambda, total);
      continue;
    }
    total.value += basis.penalty->log_det_constant;
    if (!add_graded(basis, lambda, algebra, total)) return std::nullopt;
  }
  return total;
}

}  // namespace TESSERA_NAMESPACE::gam
