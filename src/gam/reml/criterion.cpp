// SPDX-License-Identifier: Apache-2.0
#include "gam/reml/criterion.hpp"

#include "base/at.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"
#include "gam/reml/dependent_columns.hpp"
#include "gam/reml/influence.hpp"
#include "gam/reml/scaled_penalty.hpp"

#include <tessera/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

namespace tessera::gam {
namespace {

/// A diagonal block of fewer coefficients is not worth eliminating.
constexpr int smallest_eliminated = 100;
/// A profile decomposes a matrix of the rank of its penalty.
constexpr int largest_profile = 1000;
/// Noise of V that cannot end a search, which ends at a gradient of 1e-9 or, where it stalls, of 1e-5.
constexpr double quiet = 1e-7;

void turn_vector(std::vector<double>& x, int begin, const Matrix& u, bool transposed) {
  if (u.empty()) return;
  const auto part = std::span(x).subspan(base::at(begin), base::at(u.rows()));
  const std::vector<double> turned = transposed ? multiply_t(u, part) : multiply(u, part);
  std::copy(turned.begin(), turned.end(), part.begin());
}

/// The basis that has the penalty with this index among those of all blocks.
const BlockBasis& basis_with(const std::vector<BlockBasis>& bases, int index) {
  return *std::ranges::find_if(
      bases, [&](const BlockBasis& basis) { return index < basis.first_sp + basis.penalties(); });
}

/// Rank of that penalty.
int penalty_rank(const BlockBasis& basis, int index) {
  const int own = index - basis.first_sp;
  if (!basis.penalty->commutes()) return basis.penalty->set_ranks[std::size_t{1} << own];
  return static_cast<int>(
      std::ranges::count_if(basis.penalty->eigenvalues.column(own), [](double v) { return v > 0; }));
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

/// The j-th penalty of the basis.
double diagonal_mean_ratio(const PartedMatrix& gram, const BlockBasis& basis, std::size_t j) {
  double largest = 0;
  for (int i = 0; i < basis.size; ++i) largest = std::max(largest, basis.penalty->diagonal(j, i));
  double sum_gram = 0;
  double sum_penalty = 0;
  for (int i = 0; i < basis.size; ++i) {
    const double own = basis.penalty->diagonal(j, i);
    const double square = gram(basis.begin + i, basis.begin + i);
    // Where columns have been made of one size, penalties are orders of magnitude apart instead.
    const bool scaled = basis.penalty->orthogonal_columns;
    if (scaled ? own <= 0 : own <= 1e-12 * largest) continue;
    sum_gram += scaled ? square / own : square;
    sum_penalty += scaled ? 1 : own;
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

/// The largest block that is worth eliminating, or null: diagonal in X'WX and in its penalty.
const BlockBasis* block_to_eliminate(const PartedMatrix& gram, const std::vector<BlockBasis>& bases) {
  if (gram.is_parted()) return &*std::ranges::find(bases, gram.part().begin, &BlockBasis::begin);
  const BlockBasis* largest = nullptr;
  for (const BlockBasis& basis : bases) {
    if (basis.size < smallest_eliminated || (largest != nullptr && basis.size <= largest->size)) continue;
    if (basis.penalty->is_ridge() && is_diagonal(gram.core, basis.begin, basis.size)) largest = &basis;
  }
  return largest;
}

}  // namespace

std::vector<double> RemlCriterion::Coordinates::times(std::span<const double> x) const {
  const auto first = x.first(diagonal.size());
  const auto rest = x.subspan(diagonal.size());
  std::vector<double> out = multiply(core, rest);
  if (diagonal.empty()) return out;
  const std::vector<double> beside = border.transposed_times(first);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] += beside[i];
  std::vector<double> own = border.times(rest);
  for (std::size_t i = 0; i < own.size(); ++i) own[i] += diagonal[i] * first[i];
  out.insert(out.begin(), own.begin(), own.end());
  return out;
}

void RemlCriterion::Coordinates::turn(int begin, const Matrix& u, const Algebra& algebra) {
  if (u.empty()) return;
  gam::turn(core, begin - eliminated(), u, algebra);
  turn_vector(gradient, begin, u, true);
  turn_vector(base, begin, u, true);
  if (!diagonal.empty()) border.turn(begin - eliminated(), u, algebra);
}

/// X'WX + S factored at one point, in the coordinates graded for it: D of the eliminated block is its
/// diagonal, and the Schur complement B - C' D^-1 C of it is E L L' E.
struct RemlCriterion::Factored {
  std::vector<ScaledPenalty> penalties;
  std::vector<std::pair<int, Matrix>> turns;  ///< what graded the blocks of several penalties
  std::optional<Coordinates> graded;          ///< the working model where there are such turns
  std::vector<double> diagonal;               ///< D
  std::vector<double> scale;                  ///< E, the root of the complement's diagonal
  Matrix lower;                               ///< L
  std::vector<double> coef;
  double deviance = 0;  ///< RSS + b'Sb
  double log_det = 0;   ///< log|X'WX + S|

  /// The block of the inverse over the core: E^-1 L'^-1 L^-1 E^-1.
  [[nodiscard]] Matrix core_inverse(const Algebra& algebra) const {
    Matrix a = cholesky_inverse(lower, algebra);
    unscale(a, scale);
    return a;
  }
  /// E^-1 (b - C' D^-1 b), the right-hand side of the core.
  [[nodiscard]] std::vector<double> reduced(const Coordinates& model, std::span<const double> b) const;
  /// (X'WX + S)^-1 b.
  [[nodiscard]] std::vector<double> solve(const Coordinates& model, std::span<const double> b) const;

  /// Finds the coordinates, and the penalties in them.
  void grade(const RemlCriterion& of, std::span<const double> log_sp);
  /// False if X'WX + S is not positive definite.
  [[nodiscard]] bool factor(const Coordinates& model, const Algebra& algebra);
  /// False if the deviance is not finite.
  [[nodiscard]] bool solve_for_coef(const Coordinates& model, double residual, double least_deviance);
};

RemlCriterion::RemlCriterion(const WorkingModel& model, const Design& design,
                             const std::vector<BlockBasis>& bases, bool scale_known, const Algebra& algebra)
    : working_(model),
      algebra_(&algebra),
      scale_known_(scale_known),
      bases_(bases),
      eliminated_(block_to_eliminate(model.gram, bases)),
      unpenalised_(design.null_space()) {
  PartedMatrix gram = model.gram;
  Coordinates own;
  own.gradient = model.gradient;
  own.base = model.base;
  for (const BlockBasis& basis : bases_) {
    for (std::size_t j = 0; j < basis.penalty->count(); ++j) {
      const double ratio = diagonal_mean_ratio(model.gram, basis, j);
      default_start_.push_back(ratio > 0 ? std::log(ratio) : 0.0);
    }
    sp_count_ += basis.penalties();
    gram.turn(basis.begin, basis.rotation, algebra);
    turn_vector(own.gradient, basis.begin, basis.rotation, true);
    if (basis.inverse.empty())
      turn_vector(own.base, basis.begin, basis.rotation, true);
    else
      turn_vector(own.base, basis.begin, basis.inverse, false);
  }
  if (!scale_known && model.rows <= unpenalised_) {
    throw Error(ErrorCode::input,
                fmt::format("{} rows cannot determine {} unpenalised coefficients and a scale: use a smaller "
                            "model or more rows",
                            model.rows, unpenalised_));
  }
  refuse_dependent_columns(gram, design, bases_);
  floor_ = smallest_sum_of_squares(model);
  split(std::move(gram), own);
  model_ = std::make_shared<const Coordinates>(std::move(own));
}

/// Takes the working model apart at the block that is eliminated.
void RemlCriterion::split(PartedMatrix gram, Coordinates& model) const {
  if (eliminated_ == nullptr) {
    model.core = std::move(gram.core);
    return;
  }
  const int begin = eliminated_->begin;
  const int size = eliminated_->size;
  // What changes its basis from evaluation to evaluation.
  std::vector<bool> turned(base::at(gram.size() - size));
  for (const BlockBasis& basis : bases_) {
    if (!basis.dense.empty()) std::fill_n(turned.begin() + place_of(basis) - size, basis.size, true);
  }
  if (!gram.is_parted()) gram = PartedMatrix(gram.core, {begin, size});
  model.border = Border(gram.border, turned);
  model.diagonal = std::move(gram.diagonal);
  model.core = std::move(gram.core);
  for (std::vector<double>* const x : {&model.gradient, &model.base})
    std::rotate(x->begin(), x->begin() + begin, x->begin() + begin + size);
}

int RemlCriterion::place_of(const BlockBasis& basis) const {
  if (eliminated_ == nullptr || basis.begin > eliminated_->begin) return basis.begin;
  return &basis == eliminated_ ? 0 : basis.begin + eliminated_->size;
}

void RemlCriterion::Factored::grade(const RemlCriterion& of, std::span<const double> log_sp) {
  for (const BlockBasis& basis : of.bases_) {
    const std::vector<double> lambda = basis.smoothing_parameters(log_sp);
    const int place = of.place_of(basis);
    const int in_core = place - of.model_->eliminated();
    if (basis.dense.empty()) {
      for (std::size_t j = 0; j < lambda.size(); ++j) {
        penalties.push_back({place, in_core, basis.rank, basis.diagonals[j], {}});
        for (double& v : penalties.back().diagonal) v *= lambda[j];
      }
      continue;
    }
    GradedPenalties found = grade_penalties(basis.dense, *basis.penalty, basis.spread, lambda, *of.algebra_);
    for (int j = 0; j < basis.penalties(); ++j) {
      Matrix& s = found.penalties[base::at(j)];
      for (double& v : s.values()) v *= lambda[base::at(j)];
      penalties.push_back({place, in_core, basis.rank, {}, std::move(s)});
    }
    if (found.rotation.empty()) continue;
    if (!graded) graded = *of.model_;
    graded->turn(place, found.rotation, *of.algebra_);
    turns.emplace_back(basis.begin, std::move(found.rotation));
  }
}

const RemlCriterion::Coordinates& RemlCriterion::coordinates_of(const Factored& at) const {
  return at.graded ? *at.graded : *model_;
}

bool RemlCriterion::Factored::factor(const Coordinates& model, const Algebra& algebra) {
  diagonal = model.diagonal;
  Matrix scaled = model.core;
  for (const ScaledPenalty& s : penalties) {
    if (s.is_eliminated()) {
      for (std::size_t i = 0; i < diagonal.size(); ++i) diagonal[i] += s.diagonal[i];
      continue;
    }
    for (int j = 0; j < s.rank; ++j) {
      if (s.dense.empty()) {
        scaled(s.in_core + j, s.in_core + j) += s.diagonal[base::at(j)];
        continue;
      }
      for (int i = 0; i < s.rank; ++i) scaled(s.in_core + i, s.in_core + j) += s.dense(i, j);
    }
  }
  if (!diagonal.empty()) {
    std::vector<double> inverse;
    inverse.reserve(diagonal.size());
    for (const double d : diagonal) {
      if (!(d > 0) || !std::isfinite(d)) return false;
      log_det += std::log(d);
      inverse.push_back(1 / d);
    }
    algebra.go_on();
    const Matrix explained = model.border.weighted_square(inverse, algebra);
    for (std::size_t i = 0; i < scaled.values().size(); ++i) scaled.values()[i] -= explained.values()[i];
  }
  const int q = scaled.rows();
  for (int i = 0; i < q; ++i) {
    if (!(scaled(i, i) > 0) || !std::isfinite(scaled(i, i))) return false;
    scale.push_back(std::sqrt(scaled(i, i)));
    log_det += 2 * std::log(scale.back());
  }
  unscale(scaled, scale);
  algebra.go_on();
  auto factor = cholesky(scaled, algebra);
  if (!factor) return false;
  lower = std::move(*factor);
  for (int i = 0; i < q; ++i) log_det += 2 * std::log(lower(i, i));
  return true;
}

std::vector<double> RemlCriterion::Factored::reduced(const Coordinates& model,
                                                     std::span<const double> b) const {
  std::vector<double> own(b.begin(), b.begin() + std::ssize(diagonal));
  std::vector<double> core(b.begin() + std::ssize(diagonal), b.end());
  if (!own.empty()) {
    for (std::size_t i = 0; i < own.size(); ++i) own[i] /= diagonal[i];
    const std::vector<double> explained = model.border.transposed_times(own);
    for (std::size_t i = 0; i < core.size(); ++i) core[i] -= explained[i];
  }
  for (std::size_t i = 0; i < core.size(); ++i) core[i] /= scale[i];
  return core;
}

std::vector<double> RemlCriterion::Factored::solve(const Coordinates& model,
                                                   std::span<const double> b) const {
  std::vector<double> x = cholesky_solve(lower, reduced(model, b));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] /= scale[i];
  if (diagonal.empty()) return x;
  std::vector<double> own = model.border.times(x);
  for (std::size_t i = 0; i < own.size(); ++i) own[i] = (b[i] - own[i]) / diagonal[i];
  x.insert(x.begin(), own.begin(), own.end());
  return x;
}

bool RemlCriterion::Factored::solve_for_coef(const Coordinates& model, double residual,
                                             double least_deviance) {
  // b = base + d with (X'WX + S) d = X'W r - S base, and RSS from d alone.
  std::vector<double> step = model.gradient;
  for (const ScaledPenalty& s : penalties) {
    const std::vector<double> part = s.times(model.base);
    for (std::size_t i = 0; i < part.size(); ++i) step[base::at(s.begin) + i] -= part[i];
  }
  step = solve(model, step);
  coef = model.base;
  for (std::size_t i = 0; i < step.size(); ++i) coef[i] += step[i];
  deviance =
      std::max(least_deviance, residual - 2 * dot(step, model.gradient) + dot(step, model.times(step)));
  for (const ScaledPenalty& s : penalties) {
    const auto own = std::span(coef).subspan(base::at(s.begin), base::at(s.rank));
    deviance += dot(own, s.times(coef));
  }
  return std::isfinite(deviance);
}

std::optional<RemlCriterion::Factored> RemlCriterion::factor(std::span<const double> log_sp) const {
  Factored at;
  at.grade(*this, log_sp);
  const Coordinates& model = coordinates_of(at);
  if (!at.factor(model, *algebra_) || !at.solve_for_coef(model, working_.residual, floor_))
    return std::nullopt;
  return at;
}

double RemlCriterion::scale_of(const Factored& at) const {
  return scale_known_ ? 1.0 : at.deviance / (static_cast<double>(working_.rows) - unpenalised_);
}

double RemlCriterion::value_of(const Factored& at, double log_det_penalty) const {
  const double df = static_cast<double>(working_.rows) - unpenalised_;
  const double phi = scale_of(at);
  return (at.deviance / phi + df * std::log(2 * std::numbers::pi * phi) + at.log_det - log_det_penalty) / 2;
}

std::vector<double> RemlCriterion::noise_of(const Coordinates& model, const Matrix& inverse) const {
  // An element of X'WX is rounded by a part of its columns' norms, which for a block's is the largest: its
  // coordinates are combinations of one another. d log|A| = tr(A^-1 dA), at most that times tr(A^-1).
  std::vector<double> noise;
  std::vector<bool> penalised(base::at(inverse.rows()));
  for (const BlockBasis& basis : bases_) {
    double largest = 0;
    double trace = 0;
    if (&basis != eliminated_) {
      const int begin = place_of(basis) - model.eliminated();
      double own = 0;
      for (int i = begin; i < begin + basis.size; ++i) {
        largest = std::max(largest, model.core(i, i));
        trace += inverse(i, i);
        own += model.core(i, i) * inverse(i, i);
        penalised[base::at(i)] = true;
      }
      if (basis.penalty->orthogonal_columns) {
        noise.push_back(std::numeric_limits<double>::epsilon() * own);
        continue;
      }
    }
    noise.push_back(std::numeric_limits<double>::epsilon() * largest * trace);
  }
  double others = 0;
  for (int i = 0; i < inverse.rows(); ++i)
    if (!penalised[base::at(i)]) others += model.core(i, i) * inverse(i, i);
  noise.push_back(std::numeric_limits<double>::epsilon() * others);
  return noise;
}

std::optional<double> RemlCriterion::value(std::span<const double> log_sp) const {
  const auto at = factor(log_sp);
  const auto penalty_det = penalty_determinant(bases_, log_sp, *algebra_);
  if (!at || !penalty_det) return std::nullopt;
  return value_of(*at, penalty_det->value);
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
  out.rounding = 1e-14 * (std::abs(out.value) + static_cast<double>(working_.rows) + working_.residual / phi);
  out.gradient.resize(count);
  out.hessian = Matrix(sp_count_, sp_count_);
  if (sp_count_ == 0) return out;

  // dD/drho_j = b'S_j b; d2D = that on the diagonal - 2 b'S_j A S_k b (S_j with its lambda), of which the
  // second is that of the core and, of the eliminated penalty with itself, b'S D^-1 S b.
  const Coordinates& model = coordinates_of(*at);
  Matrix penalised(core_size(), sp_count_);
  std::vector<double> deviance_slope(count);
  std::vector<double> own_curvature(count);
  for (std::size_t j = 0; j < count; ++j) {
    const ScaledPenalty& s = at->penalties[j];
    const std::vector<double> sb = s.times(at->coef);
    std::vector<double> column(at->coef.size());
    for (std::size_t i = 0; i < sb.size(); ++i) {
      const auto row = base::at(s.begin) + i;
      deviance_slope[j] += at->coef[row] * sb[i];
      column[row] = sb[i];
      if (s.is_eliminated()) own_curvature[j] += sb[i] * sb[i] / at->diagonal[i];
    }
    std::ranges::copy(at->reduced(model, column), penalised.column(static_cast<int>(j)).begin());
  }
  const Matrix half = triangular_solve(at->lower, penalised, false);
  const Matrix cross = multiply_tn(half, half);
  algebra_->go_on();
  const Matrix inverse = at->core_inverse(*algebra_);
  const PenaltyTraces traces(at->penalties, inverse, model.border, at->diagonal, *algebra_);
  const std::vector<double> noise = noise_of(model, inverse);
  out.noise = std::accumulate(noise.begin(), noise.end(), 0.0);
  if (out.noise < quiet) out.noise = 0;
  out.rounding = std::max(out.rounding, out.noise);

  for (std::size_t j = 0; j < count; ++j) {
    const int row = static_cast<int>(j);
    const double trace = traces.of(j);
    out.gradient[j] = (deviance_slope[j] / phi + trace - penalty_det.gradient[j]) / 2;
    for (std::size_t k = 0; k <= j; ++k) {
      const int col = static_cast<int>(k);
      double curvature = -2 * cross(row, col) / phi;
      curvature -= traces.of(j, k);
      curvature -= penalty_det.hessian(row, col);
      if (j == k) curvature += (deviance_slope[j] - 2 * own_curvature[j]) / phi + trace;
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
  out.df = static_cast<double>(working_.rows) - unpenalised_;
  out.scale_known = scale_known_;

  const auto coef = std::span(at.coef).subspan(base::at(own.begin), base::at(own.rank));
  const Matrix part = submatrix(inverse, own.in_core, own.rank, own.in_core, own.rank);
  const Matrix root = own.root(penalty_rank(basis_with(bases_, coordinate), coordinate));
  algebra_->go_on();
  const SymmetricEigen common = symmetric_eigen(multiply_tn(root, algebra_->multiply(part, root)));
  for (const double v : common.values) out.share.push_back(std::clamp(v, 0.0, 1.0));
  for (const double v : multiply_t(common.vectors, multiply_t(root, coef))) out.square.push_back(v * v);

  // The same of log|S|+: the sum of the block's penalties instead of X'WX + S.
  if (own.dense.empty()) {
    std::vector<double> sums(base::at(own.rank));
    for (const ScaledPenalty& s : at.penalties) {
      if (s.begin == own.begin) add_multiple(sums, 1, s.diagonal);
    }
    for (std::size_t i = 0; i < sums.size(); ++i) out.penalty_share.push_back(own.diagonal[i] / sums[i]);
    return out;
  }
  Matrix sum(own.rank, own.rank);
  for (const ScaledPenalty& s : at.penalties) {
    if (s.begin == own.begin) add_multiple(sum.values(), 1, s.dense.values());
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
  const Matrix inverse = at->core_inverse(*algebra_);
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
    throw Error(
        ErrorCode::not_converged,
        "the penalised crossproduct of the model is not positive definite: use fewer terms or smaller k");
  }
  RemlFit fit;
  fit.log_sp.assign(log_sp.begin(), log_sp.end());
  fit.score = value_of(*at, penalty_det->value);
  fit.penalised_deviance = at->deviance;
  fit.scale = scale_of(*at);

  fit.coef = at->coef;
  algebra_->go_on();
  const Matrix core_inverse = at->core_inverse(*algebra_);
  fit.noise = noise_of(coordinates_of(*at), core_inverse);
  fit.inverse = working_.gram.is_parted() ? parted_inverse(*at, core_inverse)
                                          : PartedMatrix(whole_inverse(*at, core_inverse));
  if (eliminated_ != nullptr) {
    const auto own = fit.coef.begin() + eliminated_->size;
    std::rotate(fit.coef.begin(), own, own + eliminated_->begin);
  }
  const auto restore = [&](int begin, const Matrix& u) {
    if (u.empty()) return;
    turn_vector(fit.coef, begin, u, false);
    fit.inverse.turn(begin, transpose(u), *algebra_);
  };
  for (const auto& [begin, turn] : at->turns) restore(begin, turn);
  for (const BlockBasis& basis : bases_) restore(basis.begin, basis.rotation);

  if (working_.gram.is_parted())
    fit.part_ridge = eliminated_->penalty->ridge * std::exp(log_sp[base::at(eliminated_->first_sp)]);
  const Influence f = influence(fit.inverse, working_.gram, fit.part_ridge, *algebra_);
  fit.edf = f.edf(working_.gram.part());
  fit.edf1 = f.edf1(working_.gram.part());
  return fit;
}

/// (X'WX + S)^-1 in the order of the coefficients.
Matrix RemlCriterion::whole_inverse(const Factored& at, const Matrix& core) const {
  if (eliminated_ == nullptr) return core;
  const Border& border = coordinates_of(at).border;
  const int r = eliminated_->size;
  const int begin = eliminated_->begin;
  const auto place = [&](int i) { return i < begin ? i : i + r; };
  Matrix whole(core.rows() + r, core.rows() + r);
  for (int j = 0; j < core.cols(); ++j) {
    for (int i = 0; i < core.rows(); ++i) whole(place(i), place(j)) = core(i, j);
  }
  Matrix beside = border.after(core, *algebra_);  // V C' D^-1
  for (int j = 0; j < r; ++j) {
    for (double& v : beside.column(j)) v /= at.diagonal[base::at(j)];
    for (int i = 0; i < core.rows(); ++i)
      whole(place(i), begin + j) = whole(begin + j, place(i)) = -beside(i, j);
  }
  Matrix own = border.after(transpose(beside), *algebra_);  // D^-1 C V C'
  for (int j = 0; j < r; ++j) {
    for (double& v : own.column(j)) v /= at.diagonal[base::at(j)];
    own(j, j) += 1 / at.diagonal[base::at(j)];
  }
  fill_upper(own, *algebra_);
  assign(whole, begin, begin, own);
  return whole;
}

/// The same without what is off the diagonal of the eliminated block, which is not formed.
PartedMatrix RemlCriterion::parted_inverse(const Factored& at, const Matrix& core) const {
  PartedMatrix inverse(working_.gram.size(), working_.gram.part());
  inverse.core = core;
  const Border& border = coordinates_of(at).border;
  const Matrix beside = border.after(inverse.core, *algebra_);  // V C'
  for (int i = 0; i < beside.cols(); ++i) {
    const double d = at.diagonal[base::at(i)];
    for (int j = 0; j < beside.rows(); ++j) inverse.border(i, j) = -beside(j, i) / d;
  }
  const std::vector<double> forms = border.times_rows(beside);  // c' V c of each row c
  for (std::size_t i = 0; i < forms.size(); ++i)
    inverse.diagonal[i] = (1 + forms[i] / at.diagonal[i]) / at.diagonal[i];
  return inverse;
}

bool RemlCriterion::has_profile(int coordinate) const {
  const BlockBasis& basis = basis_with(bases_, coordinate);
  return &basis != eliminated_ && basis.rank <= largest_profile;
}

}  // namespace tessera::gam
