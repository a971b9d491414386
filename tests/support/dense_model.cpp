// SPDX-License-Identifier: Apache-2.0
#include "support/dense_model.hpp"

#include "gam/design/smooth.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

Matrix joined(const Matrix& a, const Matrix& b) {
  Matrix out(std::max(a.rows(), b.rows()), a.cols() + b.cols());
  if (!a.empty()) assign(out, 0, 0, a);
  assign(out, 0, a.cols(), b);
  return out;
}

Matrix scaled(Matrix a, double factor) {
  for (double& v : a.values()) v *= factor;
  return a;
}

std::vector<std::string> levels_of(std::vector<std::string> factor) {
  std::sort(factor.begin(), factor.end());
  factor.erase(std::unique(factor.begin(), factor.end()), factor.end());
  return factor;
}

/// All `k` cubic B-splines on equally spaced knots, by the recursion of Cox and de Boor.
Matrix b_splines(const std::vector<double>& x, int k, double low, double high) {
  const double range = high - low;
  const double left = low - 0.001 * range;
  const double spacing = (range + 0.002 * range) / (k - 3);
  const auto knot = [&](int i) { return left + (i - 3) * spacing; };
  Matrix out(static_cast<int>(x.size()), k);
  for (std::size_t row = 0; row < x.size(); ++row) {
    std::vector<double> b(static_cast<std::size_t>(k) + 3);
    for (int i = 0; i < k + 3; ++i)
      b[static_cast<std::size_t>(i)] = x[row] >= knot(i) && x[row] < knot(i + 1);
    for (int degree = 1; degree <= 3; ++degree) {
      for (int i = 0; i + degree < k + 3; ++i) {
        const auto at = static_cast<std::size_t>(i);
        b[at] =
            ((x[row] - knot(i)) * b[at] + (knot(i + degree + 1) - x[row]) * b[at + 1]) / (degree * spacing);
      }
    }
    for (int i = 0; i < k; ++i) out(static_cast<int>(row), i) = b[static_cast<std::size_t>(i)];
  }
  return out;
}

Matrix b_splines(const std::vector<double>& x, int k) {
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  return b_splines(x, k, *low, *high);
}

Matrix second_difference_penalty(int k) {
  Matrix d(k - 2, k);
  for (int i = 0; i < k - 2; ++i) {
    d(i, i) = 1;
    d(i, i + 1) = -2;
    d(i, i + 2) = 1;
  }
  return multiply_tn(d, d);
}

/// S / S.scale as in mgcv: S times the squared infinity norm of X, divided by the 1-norm of S.
Matrix scale_penalty(const Matrix& x, Matrix s) {
  double largest_row = 0;
  for (int i = 0; i < x.rows(); ++i) {
    double sum = 0;
    for (int j = 0; j < x.cols(); ++j) sum += std::abs(x(i, j));
    largest_row = std::max(largest_row, sum);
  }
  double largest_column = 0;
  for (int j = 0; j < s.cols(); ++j) {
    double sum = 0;
    for (const double v : s.column(j)) sum += std::abs(v);
    largest_column = std::max(largest_column, sum);
  }
  return scaled(std::move(s), largest_row * largest_row / largest_column);
}

/// Null space of the sum-to-zero constraint: the last K - 1 columns of Q in C' = QR, with the column means C.
Matrix constraint_null_space(const Matrix& x) {
  Matrix means(x.cols(), 1);
  for (int j = 0; j < x.cols(); ++j) {
    for (const double v : x.column(j)) means(j, 0) += v / x.rows();
  }
  return submatrix(full_q(means), 0, x.cols(), 1, x.cols() - 1);
}

Matrix constrained(const Matrix& s, const Matrix& z) {
  return multiply_tn(z, multiply(s, z));
}

Matrix rows_where(Matrix x, const std::vector<std::string>& factor, const std::string& level) {
  for (int i = 0; i < x.rows(); ++i) {
    if (factor[static_cast<std::size_t>(i)] == level) continue;
    for (int j = 0; j < x.cols(); ++j) x(i, j) = 0;
  }
  return x;
}

/// A margin of te (np = TRUE): B P with P = B(grid)^-1, and P'SP divided by its largest eigenvalue.
std::pair<Matrix, Matrix> te_margin(const std::vector<double>& x, int k) {
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  std::vector<double> grid;
  for (int i = 0; i < k; ++i) grid.push_back(*low + (*high - *low) * i / (k - 1));
  const Matrix p = *solve(b_splines(grid, k, *low, *high), identity(k));
  const Matrix s = constrained(second_difference_penalty(k), p);
  return {multiply(b_splines(x, k), p), scaled(s, 1 / symmetric_eigen(s).values.back())};
}

/// Common eigenvectors of a and b, computed from a generic linear combination.
Matrix common_eigenvectors(const Matrix& a, const Matrix& b) {
  Matrix sum = a;
  for (std::size_t i = 0; i < sum.values().size(); ++i) sum.values()[i] += 0.7351 * b.values()[i];
  return symmetric_eigen(sum).vectors;
}

/// Eigenvalues of a and b for the last `rank` common eigenvectors, which span the range of a + b.
Matrix common_eigenvalues(const Matrix& a, const Matrix& b, const Matrix& vectors, int rank) {
  const Matrix va = constrained(a, vectors);
  const Matrix vb = constrained(b, vectors);
  Matrix out(rank, 2);
  for (int i = 0; i < rank; ++i) {
    const int from = a.rows() - rank + i;
    out(i, 0) = va(from, from) > 1e-10 ? va(from, from) : 0;
    out(i, 1) = vb(from, from) > 1e-10 ? vb(from, from) : 0;
  }
  return out;
}

}  // namespace

Matrix treatment_contrasts(const std::vector<std::string>& factor) {
  const std::vector<std::string> levels = levels_of(factor);
  Matrix out(static_cast<int>(factor.size()), static_cast<int>(levels.size()) - 1);
  for (int j = 0; j < out.cols(); ++j) {
    for (int i = 0; i < out.rows(); ++i) {
      out(i, j) = factor[static_cast<std::size_t>(i)] == levels[static_cast<std::size_t>(j) + 1];
    }
  }
  return out;
}

void DenseModel::append(CoefBlock block, const Matrix& columns) {
  block.coef_begin = design_.coef_size;
  block.coef_size = columns.cols();
  design_.coef_size += columns.cols();
  for (int i = 0; i < columns.cols(); ++i) block.names.push_back(block.label + "." + std::to_string(i + 1));
  design_.blocks.push_back(std::move(block));
  x_ = joined(x_, columns);
}

void DenseModel::append_smooth(const std::string& label, const std::string& kind, const Matrix& columns,
                               std::vector<Matrix> penalties, int null_space) {
  CoefBlock block;
  block.label = label;
  block.kind = kind;
  Penalty penalty;
  if (penalties.size() == 1) {
    const std::vector<double> values = symmetric_eigen(penalties[0]).values;
    penalty.eigenvalues = Matrix(static_cast<int>(values.size()) - null_space, 1);
    std::copy(values.begin() + null_space, values.end(), penalty.eigenvalues.values().begin());
  }
  penalty.matrices = std::move(penalties);
  block.penalty = std::move(penalty);
  append(std::move(block), columns);
}

void DenseModel::add_parametric(const std::string& label, const Matrix& columns) {
  CoefBlock block;
  block.label = label;
  block.kind = "parametric";
  append(std::move(block), columns);
}

void DenseModel::add_intercept() {
  Matrix ones(x_.rows(), 1);
  for (double& v : ones.values()) v = 1;
  add_parametric("(Intercept)", ones);
}

void DenseModel::add_ps(const std::string& label, const std::vector<double>& x, int k) {
  const Matrix b = b_splines(x, k);
  const Matrix s = scale_penalty(b, second_difference_penalty(k));
  const Matrix z = constraint_null_space(b);
  append_smooth(label, "ps", multiply(b, z), {constrained(s, z)}, 1);
}

void DenseModel::add_ps_by(const std::string& label, const std::vector<double>& x, int k,
                           const std::vector<std::string>& factor) {
  const Matrix b = b_splines(x, k);
  const Matrix s = scale_penalty(b, second_difference_penalty(k));
  const Matrix z = constraint_null_space(b);
  for (const std::string& level : levels_of(factor)) {
    append_smooth(label + level, "ps", rows_where(multiply(b, z), factor, level), {constrained(s, z)}, 1);
  }
}

void DenseModel::add_re(const std::string& label, const std::vector<std::string>& factor) {
  const std::vector<std::string> levels = levels_of(factor);
  Matrix x(static_cast<int>(factor.size()), static_cast<int>(levels.size()));
  for (int j = 0; j < x.cols(); ++j) {
    for (int i = 0; i < x.rows(); ++i) {
      x(i, j) = factor[static_cast<std::size_t>(i)] == levels[static_cast<std::size_t>(j)];
    }
  }
  CoefBlock block;
  block.label = label;
  block.kind = "re";
  block.penalty.emplace();
  block.penalty->ridge = 1;
  block.penalty->eigenvalues = Matrix(x.cols(), 1);
  std::ranges::fill(block.penalty->eigenvalues.values(), 1.0);
  append(std::move(block), x);
}

void DenseModel::add_te(const std::string& label, const std::vector<double>& x, int k_x,
                        const std::vector<double>& z, int k_z) {
  const auto [bx, sx] = te_margin(x, k_x);
  const auto [bz, sz] = te_margin(z, k_z);
  Matrix b(bx.rows(), k_x * k_z);
  for (int i = 0; i < b.rows(); ++i) {
    for (int jx = 0; jx < k_x; ++jx) {
      for (int jz = 0; jz < k_z; ++jz) b(i, jx * k_z + jz) = bx(i, jx) * bz(i, jz);
    }
  }
  const Matrix s1 = scale_penalty(b, kronecker(sx, identity(k_z)));
  const Matrix s2 = scale_penalty(b, kronecker(identity(k_x), sz));
  const Matrix constraint = constraint_null_space(b);
  append_smooth(label, "te", multiply(b, constraint),
                {constrained(s1, constraint), constrained(s2, constraint)}, 3);

  Penalty& penalty = *design_.blocks.back().penalty;
  const int rank = k_x * k_z - 4;
  const Matrix vectors = common_eigenvectors(s1, s2);
  penalty.eigenvalues = common_eigenvalues(s1, s2, vectors, rank);
  // log|P c|^2, with the unit vector c along the column means and the projector P on the null space of s1 +
  // s2.
  std::vector<double> c;
  for (int j = 0; j < b.cols(); ++j) {
    double sum = 0;
    for (const double v : b.column(j)) sum += v;
    c.push_back(sum);
  }
  Matrix sum = s1;
  for (std::size_t i = 0; i < sum.values().size(); ++i) sum.values()[i] += s2.values()[i];
  const std::vector<double> along = multiply_t(submatrix(symmetric_eigen(sum).vectors, 0, b.cols(), 0, 4), c);
  penalty.log_det_constant = std::log(dot(along, along) / dot(c, c));
  const Matrix null_space = submatrix(vectors, 0, b.cols(), 0, 4);
  penalty.eigenvectors =
      constrained_eigenvectors(submatrix(vectors, 0, b.cols(), 4, rank), c, null_space, constraint);
  penalty.null_space =
      submatrix(symmetric_eigen(constrained(sum, constraint)).vectors, 0, b.cols() - 1, 0, 3);
}

void DenseModel::link(const std::vector<std::string>& labels, const std::vector<double>& by_factors) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    CoefBlock& block = *std::ranges::find(design_.blocks, labels[i], &CoefBlock::label);
    for (std::size_t j = 0; j < block.penalty->count(); ++j)
      block.ids.push_back(labels.front() + std::to_string(j));
    block.by_scale = by_factors[i];
  }
}

void DenseModel::forget_eigenvectors() {
  for (CoefBlock& block : design_.blocks) {
    if (block.penalty) block.penalty->eigenvectors = {};
  }
}

WorkingModel DenseModel::working(const std::vector<double>& z, const std::vector<double>& weights,
                                 const std::vector<double>& base) const {
  WorkingModel out;
  out.base = base;
  out.rows = x_.rows();
  Matrix weighted = x_;
  std::vector<double> residual = multiply(x_, base);
  for (int i = 0; i < x_.rows(); ++i) {
    const auto row = static_cast<std::size_t>(i);
    const double r = z[row] - residual[row];
    out.residual += weights[row] * r * r;
    residual[row] = weights[row] * r;
    for (int j = 0; j < x_.cols(); ++j) weighted(i, j) *= weights[row];
  }
  out.gram = multiply_tn(x_, weighted);
  out.gradient = multiply_t(x_, residual);
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam::testing
