// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/pirls/step_mixing.hpp"

#include "gam/linalg/linalg.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Fraction of the mixed step that is taken: steps that alternate between two points meet half-way.
constexpr double damping = 0.5;
/// Past steps are not used to predict a step that is longer than the last one by this factor.
constexpr double unforeseen = 4;
/// The longest mixed step, relative to the full step: slow linear convergence may need long steps.
constexpr double longest = 50;
/// Ridge of the normal equations, whose columns may be nearly dependent.
constexpr double ridge = 1e-12;

/// The move of the coefficients after which the linearly predicted next step is shortest.
std::vector<double> foreseen_move(const PartedMatrix& gram, const PastStep& now,
                                  std::span<const PastStep> past) {
  // Assuming steps are linear in the coefficients, choose g to minimise |s - sum_i g_i (s - s_i)|.
  const int count = static_cast<int>(past.size());
  std::vector<std::vector<double>> changes;
  for (const PastStep& one : past) changes.push_back(difference(now.step, one.step));
  const std::vector<double> weighted = multiply(gram, now.step);
  Matrix normal(count, count);
  std::vector<double> share;
  for (int j = 0; j < count; ++j) {
    const auto& change = changes[static_cast<std::size_t>(j)];
    const std::vector<double> along = multiply(gram, change);
    for (int i = 0; i < count; ++i) normal(i, j) = dot(changes[static_cast<std::size_t>(i)], along);
    normal(j, j) *= 1 + ridge;
    share.push_back(dot(change, weighted));
  }
  std::vector<double> move = now.step;
  for (double& v : move) v *= damping;
  const auto lower = count > 0 ? cholesky(normal) : std::nullopt;
  if (!lower) return move;
  share = cholesky_solve(*lower, share);
  for (std::size_t k = 0; k < past.size(); ++k) {
    for (std::size_t i = 0; i < move.size(); ++i)
      move[i] -= share[k] * (now.coef[i] - past[k].coef[i] + damping * changes[k][i]);
  }
  return move;
}

}  // namespace

double length(const PartedMatrix& gram, std::span<const double> step) {
  return std::sqrt(std::max(0.0, dot(step, multiply(gram, step))));
}

std::vector<double> mixed_end(const PartedMatrix& gram, const PastStep& now, std::span<const PastStep> past) {
  const double whole = length(gram, now.step);
  if (!past.empty() && whole > unforeseen * length(gram, past.back().step)) past = {};
  std::vector<double> move = foreseen_move(gram, now, past);
  // A move against the step leads to a point from which the iteration diverges: move along the step instead.
  const std::vector<double> weighted = multiply(gram, now.step);
  if (!past.empty() && dot(move, weighted) <= 0) {
    const double part = dot(past.back().step, weighted) > 0 ? 1 : damping;
    for (std::size_t i = 0; i < move.size(); ++i) move[i] = part * now.step[i];
  }
  const double far = length(gram, move);
  const double shorter = far > longest * whole ? longest * whole / far : 1;
  std::vector<double> end = now.coef;
  for (std::size_t i = 0; i < end.size(); ++i) end[i] += shorter * move[i];
  return end;
}

}  // namespace TESSERA_NAMESPACE::gam
