// SPDX-License-Identifier: Apache-2.0
#include "reml.hpp"

#include "linalg.hpp"
#include "reml_criterion.hpp"

#include <tessera/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace tessera::fit {
namespace {

constexpr int iteration_limit = 200;
constexpr int halving_limit = 30;
/// Where the gradient is that of a stalled iteration, V is rounding and halving finds nothing.
constexpr int stalled_halving_limit = 4;
/// The longest Newton step of a log smoothing parameter.
constexpr double step_limit = 5;
/// A gradient this small is zero: it moves fitted values by far less than they are determined.
constexpr double gradient_tolerance = 1e-9;
/// A gradient this small is zero where rounding lets V fall no further.
constexpr double stalled_tolerance = 1e-5;
/// A start further than this above the default may be where V is flat, and Newton's method would stay there.
constexpr double start_above = 10;
constexpr double start_below = 20;

double largest(std::span<const double> x) {
  double most = 0;
  for (const double v : x) most = std::max(most, std::abs(v));
  return most;
}

/// Towards lambda = infinity V = V_inf + c / lambda, c > 0: gradient = -c / lambda = -hessian. There Newton's
/// steps are all 1; this is the step to where c / lambda no longer matters. Zero elsewhere.
double tail_step(double gradient, double curvature) {
  const bool in_tail = gradient < -gradient_tolerance && gradient > -1e-2 &&
                       std::abs(gradient + curvature) < 0.05 * std::abs(gradient);
  return in_tail ? std::log(-gradient / (0.1 * gradient_tolerance)) : 0.0;
}

/// -H^-1 g over the coordinates that are `moving`, with the eigenvalues of H made positive.
std::vector<double> newton_step(const RemlCriterion::Evaluation& at, const std::vector<int>& moving) {
  const int count = static_cast<int>(moving.size());
  std::vector<double> step(at.gradient.size());
  if (count == 0) return step;
  Matrix hessian(count, count);
  std::vector<double> gradient;
  for (int j = 0; j < count; ++j) {
    const int from = moving[static_cast<std::size_t>(j)];
    gradient.push_back(at.gradient[static_cast<std::size_t>(from)]);
    for (int i = 0; i < count; ++i) hessian(i, j) = at.hessian(moving[static_cast<std::size_t>(i)], from);
  }
  const SymmetricEigen eigen = symmetric_eigen(hessian);
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

std::vector<double> proposed_step(const RemlCriterion::Evaluation& at) {
  std::vector<int> moving;
  std::vector<double> tails(at.gradient.size());
  for (std::size_t j = 0; j < at.gradient.size(); ++j) {
    const int place = static_cast<int>(j);
    const double curvature = at.hessian(place, place);
    tails[j] = tail_step(at.gradient[j], curvature);
    const bool flat =
        std::abs(at.gradient[j]) <= gradient_tolerance && std::abs(curvature) <= gradient_tolerance;
    if (tails[j] == 0 && !flat) moving.push_back(place);
  }
  std::vector<double> step = newton_step(at, moving);
  for (std::size_t j = 0; j < step.size(); ++j) step[j] += tails[j];
  return step;
}

/// V falls, or its change is rounding and the gradient falls.
bool is_better(const RemlCriterion::Evaluation& trial, const RemlCriterion::Evaluation& best) {
  if (trial.value < best.value - best.rounding) return true;
  return trial.value <= best.value + best.rounding && largest(trial.gradient) < 0.9 * largest(best.gradient);
}

std::vector<double> bounded_start(const RemlCriterion& criterion, std::span<const double> start) {
  std::vector<double> rho = criterion.default_start();
  for (std::size_t j = 0; j < std::min(rho.size(), start.size()); ++j) {
    rho[j] = std::clamp(start[j], rho[j] - start_below, rho[j] + start_above);
  }
  return rho;
}

}  // namespace

RemlFit fit_reml(const WorkingModel& model, const Design& design, const std::vector<BlockBasis>& bases,
                 bool scale_known, std::span<const double> start, const Algebra& algebra) {
  const RemlCriterion criterion(model, design, bases, scale_known, algebra);
  std::vector<double> rho = bounded_start(criterion, start);
  std::optional<RemlCriterion::Evaluation> best = criterion.evaluate(rho);
  // Too little data for so little penalty: more penalty makes the crossproduct positive definite.
  for (int raise = 0; !best && raise < 4; ++raise) {
    rho = criterion.default_start();
    for (double& v : rho) v += 5 * raise;
    best = criterion.evaluate(rho);
  }
  if (!best) return criterion.solution(rho);  // throws, and says why

  bool converged = false;
  int iteration = 0;
  while (!converged && iteration < iteration_limit) {
    if (largest(best->gradient) <= gradient_tolerance) {
      converged = true;
      break;
    }
    ++iteration;
    std::vector<double> step = proposed_step(*best);
    const bool stalling = largest(best->gradient) <= stalled_tolerance;
    const int halvings = stalling ? stalled_halving_limit : halving_limit;
    bool moved = false;
    for (int halving = 0; halving < halvings && !moved; ++halving) {
      std::vector<double> trial_rho = rho;
      for (std::size_t j = 0; j < step.size(); ++j) trial_rho[j] += step[j];
      auto trial = criterion.evaluate(trial_rho);
      if (trial && is_better(*trial, *best)) {
        best = std::move(trial);
        rho = std::move(trial_rho);
        moved = true;
      }
      for (double& v : step) v /= 2;
    }
    if (!moved) {
      converged = stalling;
      break;
    }
  }
  RemlFit fit = criterion.solution(rho);
  fit.iterations = iteration;
  fit.converged = converged;
  return fit;
}

RemlFit fit_reml(const WorkingModel& model, const Design& design, bool scale_known,
                 std::span<const double> start) {
  return fit_reml(model, design, penalty_bases(design), scale_known, start, HostAlgebra());
}

}  // namespace tessera::fit
