// SPDX-License-Identifier: Apache-2.0
#include "gam/reml/search.hpp"

#include "base/math/elementary.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr int iteration_limit = 200;
constexpr int halving_limit = 30;
/// Limit of halvings if the gradient is below `stalled_tolerance`: REML then changes only by rounding.
constexpr int stalled_halving_limit = 4;
constexpr double step_limit = 5;
/// After a Newton step this short, REML is nearly quadratic.
constexpr double short_newton_step = 0.5;
/// Gradient tolerance: smaller gradients change fitted values by far less than their accuracy.
constexpr double gradient_tolerance = 1e-9;
/// Gradient tolerance if rounding prevents a further decrease of REML.
constexpr double stalled_tolerance = 1e-5;
/// Gradient tolerance if no step decreases REML. mgcv's newton ends at about this, 5e-6 of REML.
constexpr double blocked_tolerance = 1e-3;
/// Safety factor for the estimated rounding error of REML: the logarithms of thousands of large eigenvalues
/// may be added and subtracted again.
constexpr double noise_of_value = 16;

/// Gradient tolerance for an approximate Hessian, relative to the Hessian's largest element.
constexpr double approximate_tolerance = 1e-10;
/// A step s updates the Hessian if |r's| exceeds this times |r| |s|, where r is the change of the gradient
/// that the Hessian does not explain.
constexpr double least_turn = 1e-8;

/// In a tail (lambda tends to infinity), REML = a + c / lambda with c > 0: gradient = -c / lambda = -hessian,
/// so Newton steps are all 1. Returns the step that makes c / lambda negligible, else 0.
double tail_step(double gradient, double curvature) {
  const bool in_tail = gradient < -gradient_tolerance && gradient > -1e-2 &&
                       std::abs(gradient + curvature) < 0.05 * std::abs(gradient);
  return in_tail ? base::log(-gradient / (0.1 * gradient_tolerance)) : 0.0;
}

/// -H^-1 g over the `moving` coordinates, with the absolute eigenvalues of H.
std::vector<double> newton_step(const RemlCriterion::Evaluation& at, const std::vector<int>& moving) {
  std::vector<double> step(at.gradient.size());
  if (moving.empty()) return step;
  std::vector<double> gradient;
  gradient.reserve(moving.size());
  for (const int from : moving) gradient.push_back(at.gradient[static_cast<std::size_t>(from)]);
  const SymmetricEigen eigen = symmetric_eigen(submatrix(at.hessian, moving, moving));
  const double floor = std::sqrt(std::numeric_limits<double>::epsilon()) * largest(eigen.values);
  std::vector<double> along = multiply_t(eigen.vectors, gradient);
  for (std::size_t i = 0; i < along.size(); ++i) along[i] /= -std::max(std::abs(eigen.values[i]), floor);
  std::vector<double> part = multiply(eigen.vectors, along);
  const double longest = largest(part);
  for (std::size_t i = 0; i < part.size(); ++i) {
    step[static_cast<std::size_t>(moving[i])] =
        longest > step_limit ? part[i] * step_limit / longest : part[i];
  }
  return step;
}

struct StepDivision {
  std::vector<int> moving;    ///< parameters that move by Newton's method
  std::vector<double> tails;  ///< steps of parameters in a tail, else 0; flat parameters do not move
};

StepDivision division_of(const RemlCriterion::Evaluation& at) {
  StepDivision division{{}, std::vector<double>(at.gradient.size())};
  for (std::size_t j = 0; j < at.gradient.size(); ++j) {
    const int index = static_cast<int>(j);
    const double curvature = at.hessian(index, index);
    division.tails[j] = tail_step(at.gradient[j], curvature);
    const bool flat =
        std::abs(at.gradient[j]) <= gradient_tolerance && std::abs(curvature) <= gradient_tolerance;
    if (division.tails[j] == 0 && !flat) division.moving.push_back(index);
  }
  return division;
}

/// Symmetric rank-one (SR1) correction of an approximate Hessian: Nocedal and Wright (2006), sec. 6.2.
class HessianCorrection {
 public:
  explicit HessianCorrection(std::size_t size) : sum_(static_cast<int>(size), static_cast<int>(size)) {}

  /// Updates the correction from a step, and corrects the Hessian at the step's end.
  void correct(std::span<const double> step, const RemlCriterion::Evaluation& before,
               RemlCriterion::Evaluation& after) {
    add_multiple(after.hessian.values(), 1, sum_.values());
    std::vector<double> rest = difference(after.gradient, before.gradient);
    add_multiple(rest, -1, multiply(after.hessian, step));
    const double along = dot(rest, step);
    if (!(std::abs(along) > least_turn * std::sqrt(dot(rest, rest) * dot(step, step)))) return;
    for (Matrix* const matrix : {&sum_, &after.hessian}) {
      for (int j = 0; j < matrix->cols(); ++j)
        add_multiple(matrix->column(j), rest[static_cast<std::size_t>(j)] / along, rest);
    }
  }

 private:
  Matrix sum_;
};

/// True if REML falls, or if the gradient falls and REML changes only by rounding. More counts as rounding if
/// `slope`, the largest decrease of REML along the step, is below the rounding error of REML.
bool is_better(const RemlCriterion::Evaluation& trial, const RemlCriterion::Evaluation& best, double slope) {
  if (trial.value < best.value - best.rounding) return true;
  const double noise = slope < best.rounding ? noise_of_value * best.rounding : best.rounding;
  return trial.value <= best.value + noise && largest(trial.gradient) < 0.9 * largest(best.gradient);
}

}  // namespace

std::optional<double> fall_ahead(const RemlCriterion::Evaluation& at) {
  const StepDivision division = division_of(at);
  if (!division.moving.empty() && !cholesky(submatrix(at.hessian, division.moving, division.moving)))
    return std::nullopt;
  const std::vector<double> step = newton_step(at, division.moving);
  if (largest(step) > short_newton_step) return std::nullopt;
  double fall = std::abs(dot(step, at.gradient)) / 2;
  for (std::size_t j = 0; j < step.size(); ++j) {
    if (division.tails[j] != 0) fall += std::abs(at.gradient[j]);
  }
  return fall;
}

std::optional<RemlOptimum> descend(const RemlCriterion& criterion, std::span<const double> start,
                                   const std::function<bool(const RemlOptimum&)>& leave) {
  auto first = criterion.evaluate(start);
  if (!first) return std::nullopt;
  RemlOptimum best{{start.begin(), start.end()}, std::move(*first), 0, 1, false};
  const double tolerance =
      best.at.exact ? gradient_tolerance
                    : std::max(gradient_tolerance, approximate_tolerance * largest(best.at.hessian.values()));
  HessianCorrection correction(start.size());
  const auto take = [&](std::span<const double> step) {
    std::vector<double> trial = best.log_sp;
    add_multiple(trial, 1, step);
    auto at = criterion.evaluate(trial);
    ++best.evaluations;
    if (!at || !is_better(*at, best.at, std::abs(dot(step, best.at.gradient)))) return false;
    if (!at->exact) correction.correct(step, best.at, *at);
    best.at = std::move(*at);
    best.log_sp = std::move(trial);
    return true;
  };
  while (best.iterations < iteration_limit && !leave(best)) {
    if (largest(best.at.gradient) <= tolerance) {
      best.converged = true;
      break;
    }
    ++best.iterations;
    const StepDivision division = division_of(best.at);
    std::vector<double> step = newton_step(best.at, division.moving);
    add_multiple(step, 1, division.tails);
    const bool stalling = largest(best.at.gradient) <= std::max(stalled_tolerance, best.at.noise);
    const int halvings = stalling ? stalled_halving_limit : halving_limit;
    bool moved = false;
    for (int halving = 0; halving < halvings && !moved; ++halving) {
      moved = take(step);
      for (double& v : step) v /= 2;
    }
    // Penalties on the same functions give REML a curved valley. The Newton step along the valley may raise
    // REML, while a step along a tail still lowers it.
    if (!moved && largest(division.tails) > 0) moved = take(division.tails);
    if (!moved) {
      best.converged = stalling || largest(best.at.gradient) <= blocked_tolerance;
      break;
    }
  }
  return best;
}

}  // namespace TESSERA_NAMESPACE::gam
