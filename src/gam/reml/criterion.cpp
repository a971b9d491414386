// SPDX-License-Identifier: Apache-2.0
#include "gam/reml/criterion.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "base/math/elementary.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"
#include "gam/reml/degrees_of_freedom.hpp"
#include "gam/reml/dependent_columns.hpp"
#include "gam/reml/scaled_penalty.hpp"

#include <tessera/error.hpp>

#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Minimum size of a diagonal block to eliminate.
constexpr int smallest_eliminated = 100;
/// Largest rank of a penalty for a profile, which needs an eigendecomposition of this size.
constexpr int largest_profile = 1000;
/// Rounding noise of REML below this does not affect a search, whose gradient tolerance is at least 1e-9.
constexpr double quiet = 1e-7;
/// Replaces a given smoothing parameter of 0, relative to X'WX, so that log|S|+ exists, as in mgcv.
constexpr double no_penalty = 0.1 * std::numeric_limits<double>::epsilon();

void transform_vector(std::vector<double>& x, int begin, const Matrix& u, bool transposed) {
  if (u.empty()) return;
  const auto part = std::span(x).subspan(base::at(begin), base::at(u.rows()));
  const std::vector<double> transformed = transposed ? multiply_t(u, part) : multiply(u, part);
  std::copy(transformed.begin(), transformed.end(), part.begin());
}

/// The block basis of the penalty with this index over all blocks.
const BlockBasis& basis_with(const std::vector<BlockBasis>& bases, int index) {
  return *std::ranges::find_if(
      bases, [&](const BlockBasis& basis) { return index < basis.first_sp + basis.penalties(); });
}

double weighted_dot(std::span<const double> x, std::span<const double> y, std::span<const double> divisors) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i] / divisors[i];
  return sum;
}

/// R' A^-1 R for a graded A; zero if A is not positive definite.
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

/// Ratio of the mean diagonals of X'WX and the j-th penalty, over the coefficients that it penalises.
double diagonal_mean_ratio(const PartedMatrix& gram, const BlockBasis& basis, std::size_t j) {
  double largest = 0;
  for (int i = 0; i < basis.size; ++i) largest = std::max(largest, basis.penalty->diagonal_of(j, i));
  double sum_gram = 0;
  double sum_penalty = 0;
  for (int i = 0; i < basis.size; ++i) {
    const double own = basis.penalty->diagonal_of(j, i);
    const double square = gram(basis.begin + i, basis.begin + i);
    // With columns of unit size the penalty's elements differ by orders of magnitude: average the ratios.
    const bool scaled = basis.penalty->orthogonal_columns;
    if (scaled ? own <= 0 : own <= 1e-12 * largest) continue;
    sum_gram += scaled ? square / own : square;
    sum_penalty += scaled ? 1 : own;
  }
  return sum_gram / sum_penalty;
}

/// A residual sum of squares below this is rounding error. This limit keeps REML smooth for perfect fits.
double smallest_sum_of_squares(const WorkingModel& model) {
  constexpr double epsilon = std::numeric_limits<double>::epsilon();
  constexpr double of_nothing = 1e-290;  // positive: a custom family's deviance has no natural unit
  const double level = dot(model.base, multiply(model.gram, model.base));
  return std::max(of_nothing, 16 * epsilon * model.residual + epsilon * epsilon * level);
}

/// The part of X'WX. Without a part, the largest block (if large) that is diagonal in X'WX and its penalty.
Part part_to_eliminate(const PartedMatrix& gram, const std::vector<BlockBasis>& bases) {
  if (gram.is_parted()) return gram.part();
  const BlockBasis* largest = nullptr;
  for (const BlockBasis& basis : bases) {
    if (basis.size < smallest_eliminated || (largest != nullptr && basis.size <= largest->size)) continue;
    if (basis.penalty->is_ridge() && is_diagonal(gram.core, basis.begin, basis.size)) largest = &basis;
  }
  return largest == nullptr ? Part() : Part(largest->begin, largest->size);
}

}  // namespace

void RemlCriterion::Coordinates::change_basis(int begin, const Matrix& u, const Algebra& algebra) {
  if (u.empty()) return;
  const int first = begin - matrix.eliminated();
  gam::change_basis(matrix.outer, first, u, algebra);
  transform_vector(gradient, begin, u, true);
  transform_vector(base, begin, u, true);
  if (matrix.eliminated() > 0) matrix.border.change_basis(first, u, algebra);
}

/// X'WX + S factored at one point, in coordinates graded for this point: the eliminated block, and its Schur
/// complement E L L' E.
struct RemlCriterion::Factored {
  std::vector<double> log_lambda;
  std::vector<ScaledPenalty> penalties;
  std::vector<std::pair<int, Matrix>> changes;  ///< first coordinate and transformation of graded blocks
  std::optional<Coordinates> graded;  ///< working model in graded coordinates; empty without graded blocks
  EliminatedBlock block;
  std::vector<double> scale;  ///< E, the root of the complement's diagonal
  Matrix lower;               ///< L
  std::vector<double> coef;
  double deviance = 0;  ///< RSS + b'Sb
  double log_det = 0;   ///< log|X'WX + S|
  PenaltyDeterminant penalty_det;

  /// The core of (X'WX + S)^-1: E^-1 L'^-1 L^-1 E^-1.
  [[nodiscard]] Matrix outer_inverse(const Algebra& algebra) const {
    Matrix a = cholesky_inverse(lower, algebra);
    unscale(a, scale);
    return a;
  }
  /// Block forward substitution by L, D and W of `block`: L^-1 b, and E^-1 (b - W' D^-1 L^-1 b) for the core.
  struct Reduced {
    std::vector<double> eliminated;
    std::vector<double> outer;
  };
  [[nodiscard]] Reduced reduced(const Coordinates& model, std::span<const double> b) const;
  /// (X'WX + S)^-1 b.
  [[nodiscard]] std::vector<double> solve(const Coordinates& model, std::span<const double> b) const;

  void grade(const RemlCriterion& of);
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
      part_(part_to_eliminate(model.gram, bases)),
      parameters_(design.parameters()),
      unpenalised_(design.null_space()) {
  for (const PenaltyParameter& one : parameters_) sp_count_ = std::max(sp_count_, one.index + 1);
  std::vector<double> start;
  PartedMatrix gram = model.gram;
  Coordinates own;
  own.gradient = model.gradient;
  own.base = model.base;
  for (const BlockBasis& basis : bases_) {
    for (std::size_t j = 0; j < basis.penalty->count(); ++j) {
      const double ratio = diagonal_mean_ratio(model.gram, basis, j);
      PenaltyParameter& own_parameter = parameters_[start.size()];
      if (std::isinf(own_parameter.offset))
        own_parameter.offset = base::log(no_penalty * (ratio > 0 ? ratio : 1));
      const double least = own_parameter.least;
      const double lambda = least > 0 ? std::max(ratio, least) + least : ratio;
      start.push_back(lambda > 0 ? base::log(lambda) : 0.0);
    }
    gram.change_basis(basis.begin, basis.rotation, algebra);
    transform_vector(own.gradient, basis.begin, basis.rotation, true);
    if (basis.inverse.empty())
      transform_vector(own.base, basis.begin, basis.rotation, true);
    else
      transform_vector(own.base, basis.begin, basis.inverse, false);
  }
  if (!scale_known && static_cast<double>(model.rows) <= model.gamma * unpenalised_) {
    throw base::input_error(
        "{} rows are too few to estimate {} unpenalised coefficients and a scale: use fewer terms or more "
        "rows",
        model.rows, unpenalised_);
  }
  default_start_ = parameters_of(start);
  refuse_dependent_columns(gram, design, bases_);
  floor_ = smallest_sum_of_squares(model);
  order(std::move(gram), own);
  model_ = std::make_shared<const Coordinates>(std::move(own));
}

std::vector<double> RemlCriterion::log_lambda(std::span<const double> log_sp) const {
  std::vector<double> each;
  each.reserve(parameters_.size());
  for (const PenaltyParameter& one : parameters_)
    each.push_back(one.log_lambda(one.index < 0 ? 0 : log_sp[base::at(one.index)]));
  return each;
}

std::vector<double> RemlCriterion::parameters_of(std::span<const double> log_lambda) const {
  std::vector<double> log_sp(log_lambda.empty() ? 0 : base::at(sp_count_));
  for (std::size_t j = log_lambda.size(); j-- > 0;) {
    if (parameters_[j].index >= 0)
      log_sp[base::at(parameters_[j].index)] = parameters_[j].log_sp(log_lambda[j]);
  }
  return log_sp;
}

void RemlCriterion::add_up(std::span<const double> log_lambda, Evaluation& at) const {
  if (base::at(sp_count_) == parameters_.size() && !is_bounded()) return;
  const Evaluation each = at;
  at.gradient.assign(base::at(sp_count_), 0);
  at.beside_scale.assign(base::at(sp_count_), 0);
  at.hessian = Matrix(sp_count_, sp_count_);
  for (int j = 0; j < each.hessian.rows(); ++j) {
    const int row = parameters_[base::at(j)].index;
    if (row < 0) continue;
    const double slope = parameters_[base::at(j)].slope(log_lambda[base::at(j)]);
    at.gradient[base::at(row)] += slope * each.gradient[base::at(j)];
    at.beside_scale[base::at(row)] += slope * each.beside_scale[base::at(j)];
    at.hessian(row, row) += slope * (1 - slope) * each.gradient[base::at(j)];
    for (int k = 0; k < each.hessian.cols(); ++k) {
      if (const int column = parameters_[base::at(k)].index; column >= 0)
        at.hessian(row, column) +=
            slope * parameters_[base::at(k)].slope(log_lambda[base::at(k)]) * each.hessian(j, k);
    }
  }
}

void RemlCriterion::order(PartedMatrix gram, Coordinates& model) const {
  // Columns whose basis differs between evaluations count as dense.
  std::vector<bool> dense(base::at(gram.size() - part_.size()));
  for (const BlockBasis& basis : bases_) {
    if (!basis.dense.empty()) std::fill_n(dense.begin() + part_.in_core(basis.begin), basis.size, true);
  }
  if (!gram.is_parted() && part_.size() > 0) gram = PartedMatrix(gram.core, part_);
  auto order = std::make_shared<const EliminationOrder>(gram, dense);
  for (std::vector<double>* const x : {&model.gradient, &model.base}) *x = in_order(*x, part_, *order);
  model.matrix = in_order(gram, std::move(order), dense);
}

void RemlCriterion::Factored::grade(const RemlCriterion& of) {
  for (const BlockBasis& basis : of.bases_) {
    const std::vector<double> lambda = basis.smoothing_parameters(log_lambda);
    const int place = of.place_of(basis);
    const int in_outer = place - of.model_->matrix.eliminated();
    if (basis.dense.empty()) {
      for (std::size_t j = 0; j < lambda.size(); ++j) {
        ScaledPenalty& own =
            penalties.emplace_back(ScaledPenalty{place, in_outer, basis.rank, basis.diagonals[j], {}, {}});
        if (of.is_of_part(basis))
          own.take_places(of.model_->matrix.order->place, of.part_.in_part(basis.begin));
        for (double& v : own.diagonal) v *= lambda[j];
      }
      continue;
    }
    GradedPenalties found = grade_penalties(basis, lambda, *of.algebra_);
    if (!basis.of_level.empty()) {
      Matrix of_level(basis.copies(), basis.copies());
      for (int i = 0; i < of_level.rows(); ++i) of_level(i, i) = basis.of_level[base::at(i)];
      for (Matrix& s : found.penalties) s = kronecker(s, of_level);
      if (!found.rotation.empty()) found.rotation = kronecker(found.rotation, identity(of_level.rows()));
    }
    for (int j = 0; j < basis.penalties(); ++j) {
      Matrix& s = found.penalties[base::at(j)];
      for (double& v : s.values()) v *= lambda[base::at(j)];
      penalties.push_back({place, in_outer, basis.rank, {}, std::move(s), {}});
    }
    if (found.rotation.empty()) continue;
    if (!graded) graded = *of.model_;
    graded->change_basis(place, found.rotation, *of.algebra_);
    changes.emplace_back(basis.begin, std::move(found.rotation));
  }
}

const RemlCriterion::Coordinates& RemlCriterion::coordinates_of(const Factored& at) const {
  return at.graded ? *at.graded : *model_;
}

bool RemlCriterion::Factored::factor(const Coordinates& model, const Algebra& algebra) {
  std::vector<double> diagonal = model.matrix.diagonal;
  const int first = model.matrix.eliminated();
  Matrix scaled = model.matrix.outer;
  for (const ScaledPenalty& s : penalties) {
    for (std::size_t i = 0; i < s.places.size(); ++i) {
      const int place = s.places[i];
      (place < first ? diagonal[base::at(place)] : scaled(place - first, place - first)) += s.diagonal[i];
    }
    for (int j = 0; !s.is_of_part() && j < s.rank; ++j) {
      if (s.dense.empty()) {
        scaled(s.in_outer + j, s.in_outer + j) += s.diagonal[base::at(j)];
        continue;
      }
      for (int i = 0; i < s.rank; ++i) scaled(s.in_outer + i, s.in_outer + j) += s.dense(i, j);
    }
  }
  auto found = eliminate(model.matrix, std::move(diagonal), algebra);
  if (!found) return false;
  block = std::move(*found);
  if (first > 0) {
    std::vector<double> inverse;
    inverse.reserve(block.diagonal.size());
    for (const double d : block.diagonal) {
      log_det += base::log(d);
      inverse.push_back(1 / d);
    }
    algebra.check_cancelled();
    const Matrix explained = block.border(model.matrix).weighted_square(inverse, algebra);
    for (std::size_t i = 0; i < scaled.values().size(); ++i) scaled.values()[i] -= explained.values()[i];
  }
  const int q = scaled.rows();
  for (int i = 0; i < q; ++i) {
    if (!(scaled(i, i) > 0) || !std::isfinite(scaled(i, i))) return false;
    scale.push_back(std::sqrt(scaled(i, i)));
    log_det += 2 * base::log(scale.back());
  }
  unscale(scaled, scale);
  algebra.check_cancelled();
  auto factor = cholesky(std::move(scaled), algebra);
  if (!factor) return false;
  lower = std::move(*factor);
  for (int i = 0; i < q; ++i) log_det += 2 * base::log(lower(i, i));
  return true;
}

RemlCriterion::Factored::Reduced RemlCriterion::Factored::reduced(const Coordinates& model,
                                                                  std::span<const double> b) const {
  const auto first = b.begin() + model.matrix.eliminated();
  Reduced out{{b.begin(), first}, {first, b.end()}};
  if (!out.eliminated.empty()) {
    block.forward(out.eliminated);
    std::vector<double> own = out.eliminated;
    for (std::size_t i = 0; i < own.size(); ++i) own[i] /= block.diagonal[i];
    const std::vector<double> explained = block.border(model.matrix).transposed_times(own);
    for (std::size_t i = 0; i < out.outer.size(); ++i) out.outer[i] -= explained[i];
  }
  for (std::size_t i = 0; i < out.outer.size(); ++i) out.outer[i] /= scale[i];
  return out;
}

std::vector<double> RemlCriterion::Factored::solve(const Coordinates& model,
                                                   std::span<const double> b) const {
  const Reduced rest = reduced(model, b);
  std::vector<double> x = cholesky_solve(lower, rest.outer);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] /= scale[i];
  if (rest.eliminated.empty()) return x;
  std::vector<double> own = block.border(model.matrix).times(x);
  for (std::size_t i = 0; i < own.size(); ++i) own[i] = (rest.eliminated[i] - own[i]) / block.diagonal[i];
  block.backward(own);
  x.insert(x.begin(), own.begin(), own.end());
  return x;
}

bool RemlCriterion::Factored::solve_for_coef(const Coordinates& model, double residual,
                                             double least_deviance) {
  // b = base + d with (X'WX + S) d = X'W r - S base: d gives the RSS without cancellation.
  std::vector<double> step = model.gradient;
  for (const ScaledPenalty& s : penalties) s.add_to(step, -1, s.times(model.base));
  step = solve(model, step);
  coef = model.base;
  for (std::size_t i = 0; i < step.size(); ++i) coef[i] += step[i];
  deviance = std::max(least_deviance,
                      residual - 2 * dot(step, model.gradient) + dot(step, model.matrix.times(step)));
  for (const ScaledPenalty& s : penalties) deviance += dot(s.own(coef), s.times(coef));
  return std::isfinite(deviance);
}

std::optional<RemlCriterion::Factored> RemlCriterion::factor(std::span<const double> log_sp) const {
  Factored at;
  at.log_lambda = log_lambda(log_sp);
  at.grade(*this);
  const Coordinates& model = coordinates_of(at);
  if (!at.factor(model, *algebra_) || !at.solve_for_coef(model, working_.residual, floor_))
    return std::nullopt;
  auto found = penalty_determinant(bases_, at.log_lambda, *algebra_);
  if (!found) return std::nullopt;
  at.penalty_det = std::move(*found);
  return at;
}

double RemlCriterion::scale_of(const Factored& at) const {
  return scale_known_ ? working_.scale : at.deviance / (working_.gamma * degrees_of_freedom());
}

double RemlCriterion::degrees_of_freedom() const {
  return static_cast<double>(working_.rows) / working_.gamma - unpenalised_;
}

double RemlCriterion::value_of(const Factored& at) const {
  const double phi = scale_of(at);
  return (at.deviance / (phi * working_.gamma) +
          degrees_of_freedom() * base::log(2 * std::numbers::pi * phi) +
          unpenalised_ * base::log(working_.gamma) + at.log_det - at.penalty_det.value) /
         2;
}

std::vector<double> RemlCriterion::noise_of(const Coordinates& model, const Matrix& inverse) const {
  // The error of an element of X'WX is relative to the norms of its two columns; within a block, where
  // coordinates mix columns, to the largest norm. d log|A| = tr(A^-1 dA) is at most this times tr(A^-1).
  std::vector<double> noise;
  const Matrix& outer = model.matrix.outer;
  const int left = model.matrix.order->left();
  std::vector<bool> penalised(base::at(inverse.rows()));
  std::fill_n(penalised.begin(), left, true);
  for (const BlockBasis& basis : bases_) {
    double largest = 0;
    double trace = 0;
    if (!is_of_part(basis)) {
      const int begin = place_of(basis) - model.matrix.eliminated();
      double own = 0;
      for (int i = begin; i < begin + basis.size; ++i) {
        largest = std::max(largest, outer(i, i));
        trace += inverse(i, i);
        own += outer(i, i) * inverse(i, i);
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
    if (!penalised[base::at(i)]) others += outer(i, i) * inverse(i, i);
  noise.push_back(std::numeric_limits<double>::epsilon() * others);
  return noise;
}

std::optional<double> RemlCriterion::value(std::span<const double> log_sp) const {
  const auto at = factor(log_sp);
  if (!at) return std::nullopt;
  return value_of(*at);
}

std::optional<RemlCriterion::Evaluation> RemlCriterion::evaluate(std::span<const double> log_sp) const {
  const auto at = factor(log_sp);
  if (!at) return std::nullopt;
  const std::size_t count = parameters_.size();
  const auto penalties = static_cast<int>(count);
  const PenaltyDeterminant& penalty_det = at->penalty_det;
  const double phi = scale_of(*at) * working_.gamma;  // divisor of the deviance

  Evaluation out;
  out.value = value_of(*at);
  // As a difference of numbers as large as `residual`, the residual sum of squares has their rounding error.
  out.rounding = 1e-14 * (std::abs(out.value) + static_cast<double>(working_.rows) + working_.residual / phi);
  out.gradient.resize(count);
  out.beside_scale.resize(count);
  out.hessian = Matrix(penalties, penalties);
  if (count == 0) return out;

  // Derivatives of the deviance D with respect to rho_j = log lambda_j, where S_j includes its lambda and A =
  // (X'WX + S)^-1: dD/drho_j = b'S_j b; d2D is -2 b'S_j A S_k b, plus dD/drho_j on the diagonal. Sums run
  // over the core, then over the eliminated coefficients.
  const Coordinates& model = coordinates_of(*at);
  Matrix penalised(core_size(), penalties);
  std::vector<double> deviance_slope(count);
  std::vector<std::vector<double>> eliminated;  // L^-1 S_j b, with L of `EliminatedBlock`
  for (std::size_t j = 0; j < count; ++j) {
    const ScaledPenalty& s = at->penalties[j];
    const std::vector<double> sb = s.times(at->coef);
    std::vector<double> column(at->coef.size());
    s.add_to(column, 1, sb);
    deviance_slope[j] = dot(s.own(at->coef), sb);
    Factored::Reduced reduced = at->reduced(model, column);
    std::ranges::copy(reduced.outer, penalised.column(static_cast<int>(j)).begin());
    eliminated.push_back(s.is_of_part() ? std::move(reduced.eliminated) : std::vector<double>());
  }
  const Matrix half = triangular_solve(at->lower, penalised, false);
  const Matrix cross = multiply_tn(half, half);
  algebra_->check_cancelled();
  const Matrix inverse = at->outer_inverse(*algebra_);
  const PenaltyTraces traces(at->penalties, inverse, model.matrix, at->block, *algebra_);
  const std::vector<double> noise = noise_of(model, inverse);
  out.noise = std::accumulate(noise.begin(), noise.end(), 0.0);
  if (out.noise < quiet) out.noise = 0;
  out.rounding = std::max(out.rounding, out.noise);
  out.exact = is_exact();

  for (std::size_t j = 0; j < count; ++j) {
    const int row = static_cast<int>(j);
    const double trace = traces.of(j);
    out.beside_scale[j] = -deviance_slope[j] / phi / 2;
    out.gradient[j] = (deviance_slope[j] / phi + trace - penalty_det.gradient[j]) / 2;
    for (std::size_t k = 0; k <= j; ++k) {
      const int col = static_cast<int>(k);
      const bool both = !eliminated[j].empty() && !eliminated[k].empty();
      const double own = both ? weighted_dot(eliminated[j], eliminated[k], at->block.diagonal) : 0;
      double curvature = -2 * cross(row, col) / phi;
      // Average information: E b'S_j A S_k b / phi = tr(A S_j) (0 if j != k) - tr(A S_j A S_k).
      const std::optional<double> pair = traces.of(j, k);
      curvature -= pair ? *pair : (j == k ? trace : 0) - (cross(row, col) + own) / phi;
      curvature -= penalty_det.hessian(row, col);
      if (j == k) {
        curvature += (deviance_slope[j] - 2 * own) / phi + trace;
      } else {
        curvature -= 2 * own / phi;
      }
      if (!scale_known_) curvature -= deviance_slope[j] / at->deviance * (deviance_slope[k] / phi);
      out.hessian(row, col) = out.hessian(col, row) = curvature / 2;
    }
  }
  add_up(at->log_lambda, out);
  return out;
}

Matrix RemlCriterion::whole_hessian(const Evaluation& at) const {
  const int count = at.hessian.rows();
  if (scale_known_ || count == 0) return at.hessian;
  const double curvature = degrees_of_freedom() / 2;  // second derivative by log phi
  Matrix whole(count + 1, count + 1);
  whole(count, count) = curvature;
  for (int j = 0; j < count; ++j) {
    const double own = at.beside_scale[base::at(j)];
    whole(j, count) = whole(count, j) = own;
    for (int i = 0; i < count; ++i)
      whole(i, j) = at.hessian(i, j) + at.beside_scale[base::at(i)] * own / curvature;
  }
  return whole;
}

RemlProfile RemlCriterion::profile(const Factored& at, const Matrix& inverse, int penalty) const {
  RemlProfile out;
  const ScaledPenalty& own = at.penalties[base::at(penalty)];
  out.log_sp = at.log_lambda[base::at(penalty)];
  out.deviance = at.deviance;
  out.log_det = at.log_det;
  out.smallest_deviance = floor_;
  out.df = degrees_of_freedom();
  if (scale_known_) out.scale = working_.scale;
  out.gamma = working_.gamma;
  out.unpenalised = unpenalised_;

  const auto coef = std::span(at.coef).subspan(base::at(own.begin), base::at(own.rank));
  const Matrix part = submatrix(inverse, own.in_outer, own.rank, own.in_outer, own.rank);
  const BlockBasis& basis = basis_with(bases_, penalty);
  const Matrix root = own.root(basis.penalty->rank_of(base::at(penalty - basis.first_sp)));
  algebra_->check_cancelled();
  const SymmetricEigen common = symmetric_eigen(multiply_tn(root, algebra_->multiply(part, root)));
  for (const double v : common.values) out.share.push_back(std::clamp(v, 0.0, 1.0));
  for (const double v : multiply_t(common.vectors, multiply_t(root, coef))) out.square.push_back(v * v);

  // Shares for log|S|+, with the sum of the block's penalties in place of X'WX + S.
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
  if (!at || coordinates.empty()) return out;
  algebra_->check_cancelled();
  const Matrix inverse = at->outer_inverse(*algebra_);
  for (const int coordinate : coordinates) {
    const auto own = std::ranges::find(parameters_, coordinate, &PenaltyParameter::index);
    out.push_back(profile(*at, inverse, static_cast<int>(own - parameters_.begin())));
    out.back().log_det_penalty = at->penalty_det.value;
  }
  return out;
}

RemlFit RemlCriterion::solution(std::span<const double> log_sp) const {
  const auto at = factor(log_sp);
  if (!at) {
    throw Error(
        ErrorCode::not_converged,
        "the penalised crossproduct of the model is not positive definite: use fewer terms or smaller k");
  }
  RemlFit fit;
  fit.log_sp = at->log_lambda;
  fit.score = value_of(*at);
  fit.penalised_deviance = at->deviance;
  fit.scale = scale_of(*at);

  const Coordinates& model = coordinates_of(*at);
  algebra_->check_cancelled();
  const Matrix outer_inverse = at->outer_inverse(*algebra_);
  fit.noise = noise_of(model, outer_inverse);
  fit.inverse = working_.gram.is_parted() ? inverse_of_part(*at, outer_inverse)
                                          : PartedMatrix(whole_inverse(*at, outer_inverse));
  fit.coef = from_order(at->coef, part_, *model.matrix.order);
  const auto restore = [&](int begin, const Matrix& u) {
    if (u.empty()) return;
    transform_vector(fit.coef, begin, u, false);
    fit.inverse.change_basis(begin, transpose(u), *algebra_);
  };
  for (const auto& [begin, change] : at->changes) restore(begin, change);
  for (const BlockBasis& basis : bases_) restore(basis.begin, basis.rotation);

  if (working_.gram.is_parted()) {
    for (const Part::Run& run : part_.runs()) {
      const BlockBasis& basis = *std::ranges::find(bases_, run.begin, &BlockBasis::begin);
      const std::vector<double> lambda = basis.smoothing_parameters(fit.log_sp);
      for (int i = 0; i < run.size; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < lambda.size(); ++j) sum += lambda[j] * basis.penalty->diagonal_of(j, i);
        fit.part_ridges.push_back(sum);
      }
    }
  }
  const Influence f = influence(fit.inverse, working_.gram, fit.part_ridges, *algebra_);
  fit.edf = f.edf(working_.gram.part());
  fit.edf1 = f.edf1(working_.gram.part());
  fit.covariance_scale = fit.scale;
  const bool all_given = sp_count_ == 0 && !parameters_.empty();
  if (!scale_known_ && (working_.gamma != 1 || base::at(sp_count_) < parameters_.size() || is_bounded())) {
    double residual = at->deviance;
    for (const ScaledPenalty& s : at->penalties) residual -= dot(s.own(at->coef), s.times(at->coef));
    const double edf = std::accumulate(fit.edf.begin(), fit.edf.end(), 0.0);
    fit.covariance_scale = residual / (static_cast<double>(working_.rows) - edf);
    // Report RSS / (n - edf), as mgcv does if all are given: the scale of REML would ignore bounds.
    if (all_given || is_bounded()) fit.scale = fit.covariance_scale;
  }
  return fit;
}

/// Expands the core block to all of (X'WX + S)^-1, in the order of the coefficients.
Matrix RemlCriterion::whole_inverse(const Factored& at, const Matrix& core) const {
  if (part_.size() == 0) return core;
  const Border& border = coordinates_of(at).matrix.border;
  const int r = part_.size();
  const int begin = part_.runs().front().begin;
  const auto place = [&](int i) { return i < begin ? i : i + r; };
  Matrix whole(core.rows() + r, core.rows() + r);
  for (int j = 0; j < core.cols(); ++j) {
    for (int i = 0; i < core.rows(); ++i) whole(place(i), place(j)) = core(i, j);
  }
  Matrix beside = border.after(core, *algebra_);  // V C' D^-1
  for (int j = 0; j < r; ++j) {
    for (double& v : beside.column(j)) v /= at.block.diagonal[base::at(j)];
    for (int i = 0; i < core.rows(); ++i)
      whole(place(i), begin + j) = whole(begin + j, place(i)) = -beside(i, j);
  }
  Matrix own = border.after(transpose(beside), *algebra_);  // D^-1 C V C'
  for (int j = 0; j < r; ++j) {
    for (double& v : own.column(j)) v /= at.block.diagonal[base::at(j)];
    own(j, j) += 1 / at.block.diagonal[base::at(j)];
  }
  fill_upper(own, *algebra_);
  assign(whole, begin, begin, own);
  return whole;
}

/// (X'WX + S)^-1 of a model with a part; only elements in the part's sparsity pattern are computed.
PartedMatrix RemlCriterion::inverse_of_part(const Factored& at, const Matrix& core) const {
  const OrderedMatrix& matrix = coordinates_of(at).matrix;
  if (matrix.order->has_pattern()) return parted_inverse(working_.gram, matrix, at.block, core, *algebra_);
  PartedMatrix inverse(working_.gram.size(), working_.gram.part());
  inverse.core = core;
  const Border& border = matrix.border;
  const Matrix beside = border.after(inverse.core, *algebra_);  // V C'
  for (int i = 0; i < beside.cols(); ++i) {
    const double d = at.block.diagonal[base::at(i)];
    for (int j = 0; j < beside.rows(); ++j) inverse.border(i, j) = -beside(j, i) / d;
  }
  const std::vector<double> forms = border.times_rows(beside);  // c' V c for each row c of C
  for (std::size_t i = 0; i < forms.size(); ++i)
    inverse.diagonal[i] = (1 + forms[i] / at.block.diagonal[i]) / at.block.diagonal[i];
  return inverse;
}

double RemlCriterion::work() const noexcept {
  const double core = core_size();
  return core * core * core + static_cast<double>(model_->matrix.eliminated()) * (core * core + 1000);
}

bool RemlCriterion::has_profile(int coordinate) const {
  const auto own = std::ranges::find(parameters_, coordinate, &PenaltyParameter::index);
  if (own->least > 0 || std::ranges::count(parameters_, coordinate, &PenaltyParameter::index) > 1)
    return false;
  const BlockBasis& basis = basis_with(bases_, static_cast<int>(own - parameters_.begin()));
  return !is_of_part(basis) && basis.rank <= largest_profile;
}

}  // namespace TESSERA_NAMESPACE::gam
