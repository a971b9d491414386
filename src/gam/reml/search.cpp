// SPDX-License-Identifier: Apache-2.0
#include "gam/reml/search.hpp"

#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tessera::gam {
namespace {

constexpr int iteration_limit = 200;
constexpr int halving_limit = 30;
/// Where the gradient is that of a stalled iteration, V is rounding and halving finds nothing.
constexpr int stalled_halving_limit = 4;
/// The longest Newton step of a log smoothing parameter.
constexpr double step_limit = 5;
/// From a Newton step as short as this V is all but quadratic.
constexpr double short_step = 0.5;
/// A gradient this small is zero: it moves fitted values by far less than they are determined.
constexpr double gradient_tolerance = 1e-9;
/// A gradient this small is zero where rounding lets V fall no further.
constexpr double stalled_tolerance = 1e-5;
/// A gradient this small is rounding too if no step against it, however short, lets V fall. mgcv's newton
/// ends at 5e-6 of the size of V, which is about as much.
constexpr double blocked_tolerance = 1e-3;
/// Of the rounding of V, which is an estimate, where the logarithms of thousands of large eigenvalues are
/// added to V and taken from it again.
constexpr double noise_of_value = 16;

/// The same of a model whose Hessian is approximate, whose evaluations are dear: a part of its curvature.
constexpr double approximate_tolerance = 1e-10;
/// What a step tells of the Hessian where it turns the difference by more than this.
constexpr double least_turn = 1e-8;

/// Towards lambda = infinity V = V_inf + c / lambda, c > 0: gradient = -c / lambda = -hessian. There Newton's
/// steps are all 1; this is the step to where c / lambda no longer matters. Zero elsewhere.
double tail_step(double gradient, double curvature) {
  const bool in_tail = gradient < -gradient_tolerance && gradient > -1e-2 &&
                       std::abs(gradient + curvature) < 0.05 * std::abs(gradient);
  return in_tail ? std::log(-gradient / (0.1 * gradient_tolerance)) : 0.0;
}

/// -H^-1 g over the coordinates that are `moving`, with the eigenvalues of H made positive.
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

/// What a step does with each parameter.
struct Division {
  std::vector<int> moving;    ///< by Newton's method
  std::vector<double> tails;  ///< steps of those in a tail; zero of the others. Flat ones stay
};

Division division_of(const RemlCriterion::Evaluation& at) {
  Division division{{}, std::vector<double>(at.gradient.size())};
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

std::vector<double> proposed_step(const RemlCriterion::Evaluation& at) {
  const Division division = division_of(at);
  std::vector<double> step = newton_step(at, division.moving);
  for (std::size_t j = 0; j < step.size(); ++j) step[j] += division.tails[j];
  return step;
}

/// What steps have told of the difference between the Hessian and its approximation.
///
/// Source: the symmetric update of rank one, Nocedal and Wright, Numerical Optimization (2006), sec. 6.2.
class HessianCorrection {
 public:
  explicit HessianCorrection(std::size_t size) : sum_(static_cast<int>(size), static_cast<int>(size)) {}

  /// Learns from a step and the gradient's change along it, and corrects the Hessian at its end.
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

/// V falls; or the gradient does, and V's change is rounding: or `slope`, all that V falls along the step at
/// most, is, so that V cannot tell.
bool is_better(const RemlCriterion::Evaluation& trial, const RemlCriterion::Evaluation& best, double slope) {
  if (trial.value < best.value - best.rounding) return true;
  const double noise = slope < best.rounding ? noise_of_value * best.rounding : best.rounding;
  return trial.value <= best.value + noise && largest(trial.gradient) < 0.9 * largest(best.gradient);
}

}  // namespace

std::optional<double> fall_ahead(const RemlCriterion::Evaluation& at) {
  const Division division = division_of(at);
  if (!division.moving.empty() && !cholesky(submatrix(at.hessian, division.moving, division.moving)))
    return std::nullopt;
  const std::vector<double> step = newton_step(at, division.moving);
  if (largest(step) > short_step) return std::nullopt;
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
  while (best.iterations < iteration_limit && !leave(best)) {
    if (largest(best.at.gradient) <= tolerance) {
      best.converged = true;
      break;
    }
    ++best.iterations;
    std::vector<double> step = proposed_step(best.at);
    const bool stalling = largest(best.at.gradient) <= std::max(stalled_tolerance, best.at.noise);
    const int halvings = stalling ? stalled_halving_limit : halving_limit;
    bool moved = false;
    for (int halving = 0; halving < halvings && !moved; ++halving) {
      std::vector<double> trial = best.log_sp;
      for (std::size_t j = 0; j < step.size(); ++j) trial[j] += step[j];
      auto at = criterion.evaluate(trial);
      ++best.evaluations;
      if (at && is_better(*at, best.at, std::abs(dot(step, best.at.gradient)))) {
        if (!at->exact) correction.correct(step, best.at, *at);
        best.at = std::move(*at);
        best.log_sp = std::move(trial);
        moved = true;
      }
      for (double& v : step) v /= 2;
    }
    if (!moved) {
      best.converged = stalling || largest(best.at.gradient) <= blocked_tolerance;
      break;
    }
  }
  return best;
}

}  // namespace tessera::gam
