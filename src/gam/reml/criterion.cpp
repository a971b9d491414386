// SPDX-License-Identifier: Apache-2.0
#include "gam/reml/criterion.hpp"

#include "base/at.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"
#include "gam/reml/dependent_columns.hpp"

#include <tessera/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace tessera::gam {
namespace {

/// u' a u for a symmetric matrix whose rows and columns from `begin` on change basis.
void turn_both(Matrix& a, int begin, const Matrix& u, const Algebra& algebra) {
  if (u.empty()) return;
  assign(a, 0, begin, algebra.multiply(submatrix(a, 0, a.rows(), begin, u.rows()), u));
  assign(a, begin, 0, algebra.multiply(transpose(u), submatrix(a, begin, u.rows(), 0, a.cols())));
}

void turn_vector(std::vector<double>& x, int begin, const Matrix& u, bool transposed) {
  if (u.empty()) return;
  const auto part = std::span(x).subspan(base::at(begin), base::at(u.rows()));
  const std::vector<double> turned = transposed ? multiply_t(u, part) : multiply(u, part);
  std::copy(turned.begin(), turned.end(), part.begin());
}

/// lambda_j S_j in the coordinates of one evaluation: on `rank` coordinates from `begin` on.
struct ScaledPenalty {
  int begin = 0;
  int rank = 0;
  std::vector<double> diagonal;  ///< or
  Matrix dense;

  [[nodiscard]] double at(int i, int j) const {
    if (!dense.empty()) return dense(i, j);
    return i == j ? diagonal[base::at(i)] : 0.0;
  }
  /// lambda_j S_j b, on the penalty's own coordinates.
  [[nodiscard]] std::vector<double> times(std::span<const double> b) const {
    const auto part = b.subspan(base::at(begin), base::at(rank));
    if (!dense.empty()) return multiply(dense, part);
    std::vector<double> out(part.begin(), part.end());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] *= diagonal[i];
    return out;
  }
  /// The columns A(., own coordinates) lambda_j S_j.
  [[nodiscard]] Matrix after(const Matrix& a, const Algebra& algebra) const {
    Matrix out = submatrix(a, 0, a.rows(), begin, rank);
    if (!dense.empty()) return algebra.multiply(out, dense);
    for (int j = 0; j < rank; ++j) {
      for (double& v : out.column(j)) v *= diagonal[base::at(j)];
    }
    return out;
  }
};

/// sum_{il} T_j(row i of k, column l) T_k(row l of j, column i) = tr(A S_j A S_k), with T = A S.
double trace_of_product(const Matrix& tj, const ScaledPenalty& j, const Matrix& tk, const ScaledPenalty& k) {
  double sum = 0;
  for (int l = 0; l < j.rank; ++l) {
    for (int i = 0; i < k.rank; ++i) sum += tj(k.begin + i, l) * tk(j.begin + l, i);
  }
  return sum;
}

/// R with R R' = lambda S_j, on the penalty's own coordinates.
Matrix root_of(const ScaledPenalty& penalty, int rank) {
  if (penalty.dense.empty()) {
    Matrix root(penalty.rank, penalty.rank);
    for (int i = 0; i < penalty.rank; ++i) root(i, i) = std::sqrt(penalty.diagonal[base::at(i)]);
    return root;
  }
  const SymmetricEigen eigen = symmetric_eigen(penalty.dense);
  Matrix root = submatrix(eigen.vectors, 0, penalty.rank, penalty.rank - rank, rank);
  for (int j = 0; j < rank; ++j) {
    const double value = eigen.values[base::at(penalty.rank - rank + j)];
    for (double& v : root.column(j)) v *= std::sqrt(std::max(value, 0.0));
  }
  return root;
}

/// Rank of the penalty with this index among those of all blocks.
int penalty_rank(const std::vector<BlockBasis>& bases, int index) {
  for (const BlockBasis& basis : bases) {
    const int own = index - basis.first_sp;
    if (own < 0 || own >= basis.penalties()) continue;
    if (!basis.penalty->commutes()) return basis.penalty->set_ranks[std::size_t{1} << own];
    int rank = 0;
    for (const double v : basis.penalty->eigenvalues.column(own)) rank += v > 0 ? 1 : 0;
    return rank;
  }
  return 0;
}

/// R' A^-1 R for positive definite A, whose diagonal may be graded; zero if it is not.
Matrix within(Matrix a, Matrix r) {
  for (int j = 0; j < a.cols(); ++j) {
    const double scale = 1 / std::sqrt(a(j, j));
    for (int i = 0; i < a.rows(); ++i) {
      a(i, j) *= scale;
      if (i != j) a(j, i) *= scale;
    }
    for (int i = 0; i < r.cols(); ++i) r(j, i) *= scale;
    a(j, j) = 1;
  }
  const auto lower = cholesky(a);
  if (!lower) return {r.cols(), r.cols()};
  const Matrix half = triangular_solve(*lower, r, false);
  return multiply_tn(half, half);
}

double diagonal_mean_ratio(const Matrix& gram, int begin, const Matrix& penalty) {
  double largest = 0;
  for (int i = 0; i < penalty.rows(); ++i) largest = std::max(largest, penalty(i, i));
  double sum_gram = 0;
  double sum_penalty = 0;
  for (int i = 0; i < penalty.rows(); ++i) {
    if (penalty(i, i) <= 1e-12 * largest) continue;
    sum_gram += gram(begin + i, begin + i);
    sum_penalty += penalty(i, i);
  }
  return sum_gram / sum_penalty;
}

/// A residual sum of squares below this is rounding, of either sign: of what it is the difference of, and of
/// the residuals about the base. A perfect fit has this one, at which V is still smooth.
double smallest_sum_of_squares(const WorkingModel& model) {
  constexpr double epsilon = std::numeric_limits<double>::epsilon();
  constexpr double of_nothing = 1e-290;  // a custom family may have any unit
  const double level = dot(model.base, multiply(model.gram, model.base));
  return std::max(of_nothing, 16 * epsilon * model.residual + epsilon * epsilon * level);
}

}  // namespace

/// X'WX + S factored at one point, in the coordinates graded for it.
struct RemlCriterion::Factored {
  /// The working model in these coordinates.
  struct Graded {
    Matrix gram;
    std::vector<double> gradient;
    std::vector<double> base;
  };

  std::vector<ScaledPenalty> penalties;
  std::vector<std::pair<int, Matrix>> turns;  ///< what graded the blocks of several penalties
  std::vector<double> scale;                  ///< D: X'WX + S = D L L' D, D the root of the diagonal
  Matrix lower;                               ///< L
  std::vector<double> coef;
  double deviance = 0;  ///< RSS + b'Sb
  double log_det = 0;   ///< log|X'WX + S|

  /// D^-1 L'^-1 L^-1 D^-1.
  [[nodiscard]] Matrix inverse() const {
    Matrix a = cholesky_inverse(lower);
    unscale(a, scale);
    return a;
  }

  /// Finds the coordinates, and the penalties in them.
  [[nodiscard]] Graded grade(const RemlCriterion& of, std::span<const double> log_sp);
  /// False if X'WX + S is not positive definite.
  [[nodiscard]] bool factor(const Matrix& gram, const Algebra& algebra);
  /// False if the deviance is not finite.
  [[nodiscard]] bool solve(const Graded& model, double residual, double least_deviance);
};

RemlCriterion::RemlCriterion(const WorkingModel& model, const Design& design,
                             const std::vector<BlockBasis>& bases, bool scale_known, const Algebra& algebra)
    : model_(model),
      algebra_(&algebra),
      scale_known_(scale_known),
      bases_(bases),
      unpenalised_(design.null_space()),
      gram_(model.gram),
      gradient_(model.gradient),
      base_(model.base) {
  for (const BlockBasis& basis : bases_) {
    for (const Matrix& s : basis.penalty->matrices) {
      const double ratio = diagonal_mean_ratio(model.gram, basis.begin, s);
      default_start_.push_back(ratio > 0 ? std::log(ratio) : 0.0);
    }
    sp_count_ += basis.penalties();
    turn_both(gram_, basis.begin, basis.rotation, algebra);
    turn_vector(gradient_, basis.begin, basis.rotation, true);
    turn_vector(base_, basis.begin, basis.rotation, true);
  }
  if (!scale_known && model.rows <= unpenalised_) {
    throw Error(ErrorCode::input,
                fmt::format("{} rows cannot determine {} unpenalised coefficients and a scale: use a smaller "
                            "model or more rows",
                            model.rows, unpenalised_));
  }
  refuse_dependent_columns(gram_, design, bases_);
  floor_ = smallest_sum_of_squares(model);
}

auto RemlCriterion::Factored::grade(const RemlCriterion& of, std::span<const double> log_sp) -> Graded {
  Graded out{of.gram_, of.gradient_, of.base_};
  for (const BlockBasis& basis : of.bases_) {
    const std::vector<double> lambda = basis.smoothing_parameters(log_sp);
    if (basis.dense.empty()) {
      penalties.push_back({basis.begin, basis.rank, basis.diagonal, {}});
      for (double& v : penalties.back().diagonal) v *= lambda[0];
      continue;
    }
    GradedPenalties graded = grade_penalties(basis.dense, *basis.penalty, basis.spread, lambda, *of.algebra_);
    turn_both(out.gram, basis.begin, graded.rotation, *of.algebra_);
    turn_vector(out.gradient, basis.begin, graded.rotation, true);
    turn_vector(out.base, basis.begin, graded.rotation, true);
    for (int j = 0; j < basis.penalties(); ++j) {
      Matrix& s = graded.penalties[base::at(j)];
      for (double& v : s.values()) v *= lambda[base::at(j)];
      penalties.push_back({basis.begin, basis.rank, {}, std::move(s)});
    }
    if (!graded.rotation.empty()) turns.emplace_back(basis.begin, std::move(graded.rotation));
  }
  return out;
}

bool RemlCriterion::Factored::factor(const Matrix& gram, const Algebra& algebra) {
  Matrix scaled = gram;
  for (const ScaledPenalty& s : penalties) {
    for (int j = 0; j < s.rank; ++j) {
      for (int i = 0; i < s.rank; ++i) scaled(s.begin + i, s.begin + j) += s.at(i, j);
    }
  }
  const int p = scaled.rows();
  for (int i = 0; i < p; ++i) {
    if (!(scaled(i, i) > 0) || !std::isfinite(scaled(i, i))) return false;
    scale.push_back(std::sqrt(scaled(i, i)));
    log_det += 2 * std::log(scale.back());
  }
  unscale(scaled, scale);
  algebra.go_on();
  auto factor = cholesky(scaled);
  if (!factor) return false;
  lower = std::move(*factor);
  for (int i = 0; i < p; ++i) log_det += 2 * std::log(lower(i, i));
  return true;
}

bool RemlCriterion::Factored::solve(const Graded& model, double residual, double least_deviance) {
  // b = base + d with (X'WX + S) d = X'W r - S base, and RSS from d alone.
  std::vector<double> step = model.gradient;
  for (const ScaledPenalty& s : penalties) {
    const std::vector<double> part = s.times(model.base);
    for (std::size_t i = 0; i < part.size(); ++i) step[base::at(s.begin) + i] -= part[i];
  }
  for (std::size_t i = 0; i < step.size(); ++i) step[i] /= scale[i];
  step = cholesky_solve(lower, step);
  for (std::size_t i = 0; i < step.size(); ++i) step[i] /= scale[i];
  coef = model.base;
  for (std::size_t i = 0; i < step.size(); ++i) coef[i] += step[i];
  deviance = std::max(least_deviance,
                      residual - 2 * dot(step, model.gradient) + dot(step, multiply(model.gram, step)));
  for (const ScaledPenalty& s : penalties) {
    const auto own = std::span(coef).subspan(base::at(s.begin), base::at(s.rank));
    deviance += dot(own, s.times(coef));
  }
  return std::isfinite(deviance);
}

std::optional<RemlCriterion::Factored> RemlCriterion::factor(std::span<const double> log_sp) const {
  Factored at;
  const Factored::Graded graded = at.grade(*this, log_sp);
  if (!at.factor(graded.gram, *algebra_) || !at.solve(graded, model_.residual, floor_)) return std::nullopt;
  return at;
}

double RemlCriterion::scale_of(const Factored& at) const {
  return scale_known_ ? 1.0 : at.deviance / (static_cast<double>(model_.rows) - unpenalised_);
}

double RemlCriterion::value_of(const Factored& at, double log_det_penalty) const {
  const double df = static_cast<double>(model_.rows) - unpenalised_;
  const double phi = scale_of(at);
  return (at.deviance / phi + df * std::log(2 * std::numbers::pi * phi) + at.log_det - log_det_penalty) / 2;
}

std::optional<RemlCriterion::Evaluation> RemlCriterion::evaluate(std::span<const double> log_sp) const {
  const auto at = factor(log_sp);
  if (!at) return std::nullopt;
  const auto count = base::at(sp_count_);
  const auto found = penalty_determinant(bases_, log_sp, *algebra_);
  if (!found) return std::nullopt;
  const PenaltyDeterminant& penalty_det = *found;
  const double phi = scale_of(*at);

  Evaluation out;
  out.value = value_of(*at, penalty_det.value);
  // The sum of squares is a difference of terms as large as that about the base.
  out.rounding = 1e-14 * (std::abs(out.value) + static_cast<double>(model_.rows) + model_.residual / phi);
  out.gradient.resize(count);
  out.hessian = Matrix(sp_count_, sp_count_);
  if (sp_count_ == 0) return out;

  // dD/drho_j = b'S_j b; d2D = that on the diagonal - 2 b'S_j A S_k b (S_j with its lambda).
  Matrix penalised(static_cast<int>(at->coef.size()), sp_count_);
  std::vector<double> deviance_slope(count);
  std::vector<Matrix> products;  // A S_j
  algebra_->go_on();
  const Matrix inverse = at->inverse();
  for (std::size_t j = 0; j < count; ++j) {
    const ScaledPenalty& s = at->penalties[j];
    const std::vector<double> sb = s.times(at->coef);
    for (int i = 0; i < s.rank; ++i) {
      const auto row = base::at(s.begin + i);
      deviance_slope[j] += at->coef[row] * sb[base::at(i)];
      penalised(s.begin + i, static_cast<int>(j)) = sb[base::at(i)] / at->scale[row];
    }
    products.push_back(s.after(inverse, *algebra_));
  }
  const Matrix half = triangular_solve(at->lower, penalised, false);
  const Matrix cross = multiply_tn(half, half);

  for (std::size_t j = 0; j < count; ++j) {
    const int row = static_cast<int>(j);
    const ScaledPenalty& s = at->penalties[j];
    double trace = 0;
    for (int i = 0; i < s.rank; ++i) trace += products[j](s.begin + i, i);
    out.gradient[j] = (deviance_slope[j] / phi + trace - penalty_det.gradient[j]) / 2;
    for (std::size_t k = 0; k <= j; ++k) {
      const int col = static_cast<int>(k);
      double curvature = -2 * cross(row, col) / phi;
      curvature -= trace_of_product(products[j], s, products[k], at->penalties[k]);
      curvature -= penalty_det.hessian(row, col);
      if (j == k) curvature += deviance_slope[j] / phi + trace;
      if (!scale_known_) curvature -= deviance_slope[j] / at->deviance * (deviance_slope[k] / phi);
      out.hessian(row, col) = out.hessian(col, row) = curvature / 2;
    }
  }
  return out;
}

RemlProfile RemlCriterion::profile(const Factored& at, const Matrix& inverse, std::span<const double> log_sp,
                                   int coordinate) const {
  RemlProfile out;
  const auto index = base::at(coordinate);
  const ScaledPenalty& own = at.penalties[index];
  out.log_sp = log_sp[index];
  out.deviance = at.deviance;
  out.log_det = at.log_det;
  out.smallest_deviance = floor_;
  out.df = static_cast<double>(model_.rows) - unpenalised_;
  out.scale_known = scale_known_;

  const auto coef = std::span(at.coef).subspan(base::at(own.begin), base::at(own.rank));
  const Matrix part = submatrix(inverse, own.begin, own.rank, own.begin, own.rank);
  const Matrix root = root_of(own, penalty_rank(bases_, coordinate));
  algebra_->go_on();
  const SymmetricEigen common = symmetric_eigen(multiply_tn(root, algebra_->multiply(part, root)));
  for (const double v : common.values) out.share.push_back(std::clamp(v, 0.0, 1.0));
  for (const double v : multiply_t(common.vectors, multiply_t(root, coef))) out.square.push_back(v * v);

  // The same of log|S|+: the sum of the block's penalties instead of X'WX + S.
  if (own.dense.empty()) {
    out.penalty_share.assign(base::at(own.rank), 1.0);
    return out;
  }
  Matrix sum(own.rank, own.rank);
  for (const ScaledPenalty& s : at.penalties) {
    if (s.begin != own.begin) continue;
    for (std::size_t i = 0; i < sum.values().size(); ++i) sum.values()[i] += s.dense.values()[i];
  }
  for (const double v : symmetric_eigen(within(sum, root)).values)
    out.penalty_share.push_back(std::clamp(v, 0.0, 1.0));
  return out;
}

std::vector<RemlProfile> RemlCriterion::profiles(std::span<const double> log_sp,
                                                 std::span<const int> coordinates) const {
  std::vector<RemlProfile> out;
  const auto at = factor(log_sp);
  const auto penalty_det = penalty_determinant(bases_, log_sp, *algebra_);
  if (!at || !penalty_det || coordinates.empty()) return out;
  algebra_->go_on();
  const Matrix inverse = at->inverse();
  for (const int coordinate : coordinates) {
    out.push_back(profile(*at, inverse, log_sp, coordinate));
    out.back().log_det_penalty = penalty_det->value;
  }
  return out;
}

RemlFit RemlCriterion::solution(std::span<const double> log_sp) const {
  const auto at = factor(log_sp);
  const auto penalty_det = penalty_determinant(bases_, log_sp, *algebra_);
  if (!at || !penalty_det) {
    throw Error(ErrorCode::not_converged,
                "the penalised crossproduct of the model is not positive definite: the model is too large "
                "for its data, use fewer terms or smaller k");
  }
  RemlFit fit;
  fit.log_sp.assign(log_sp.begin(), log_sp.end());
  fit.score = value_of(*at, penalty_det->value);
  fit.penalised_deviance = at->deviance;
  fit.scale = scale_of(*at);

  fit.coef = at->coef;
  algebra_->go_on();
  fit.inverse = at->inverse();
  const auto restore = [&](int begin, const Matrix& u) {
    if (u.empty()) return;
    turn_vector(fit.coef, begin, u, false);
    turn_both(fit.inverse, begin, transpose(u), *algebra_);
  };
  for (const auto& [begin, turn] : at->turns) restore(begin, turn);
  for (const BlockBasis& basis : bases_) restore(basis.begin, basis.rotation);

  const Matrix f = algebra_->multiply(fit.inverse, model_.gram);
  const Matrix f_transposed = transpose(f);
  for (int i = 0; i < f.rows(); ++i) {
    fit.edf.push_back(f(i, i));
    fit.edf1.push_back(2 * f(i, i) - dot(f_transposed.column(i), f.column(i)));
  }
  return fit;
}

}  // namespace tessera::gam
