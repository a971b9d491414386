// SPDX-License-Identifier: Apache-2.0
#include "gam/reml/reml.hpp"

#include "gam/linalg/linalg.hpp"
#include "gam/reml/criterion.hpp"
#include "gam/reml/search.hpp"

#include <tessera/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// A start is clamped to this distance from the default: Newton's method does not return from flat regions.
constexpr double start_above = 10;
constexpr double start_below = 20;

std::vector<double> bounded_start(const RemlCriterion& criterion, std::span<const double> log_lambda) {
  const std::vector<double> start = criterion.parameters_of(log_lambda);
  std::vector<double> log_sp = criterion.default_start();
  for (std::size_t j = 0; j < std::min(log_sp.size(), start.size()); ++j) {
    log_sp[j] = std::clamp(start[j], log_sp[j] - start_below, log_sp[j] + start_above);
  }
  return log_sp;
}

/// Largest rounding error of REML, and roughly of degrees of freedom, that is negligible in tests and bands.
constexpr double most_noise = 0.02;

int block_of(const Design& design, std::ptrdiff_t penalised) {
  for (std::size_t i = 0; i < design.blocks.size(); ++i) {
    if (design.blocks[i].penalty && penalised-- == 0) return static_cast<int>(i);
  }
  return -1;
}

/// Sets `converged` and, if the search did not end at a minimum, the block that prevents it.
void judge(RemlFit& fit, const RemlOptimum& end, const Design& design, const std::vector<BlockBasis>& bases) {
  const auto blocks = std::span(fit.noise).first(bases.size());
  fit.hidden_by_rounding = std::accumulate(blocks.begin(), blocks.end(), 0.0) > most_noise;
  fit.converged = end.converged && !fit.hidden_by_rounding;
  if (fit.converged) return;
  if (fit.hidden_by_rounding) {
    fit.doubtful_block = block_of(design, std::ranges::max_element(blocks) - blocks.begin());
    return;
  }
  const auto size = [](double v) { return std::abs(v); };
  const auto steepest = std::ranges::max_element(end.at.gradient, {}, size) - end.at.gradient.begin();
  const auto all = design.parameters();
  const auto penalty = std::ranges::find(all, steepest, &PenaltyParameter::index) - all.begin();
  const auto basis = std::ranges::find_if(
      bases, [&](const BlockBasis& one) { return penalty < one.first_sp + one.penalties(); });
  fit.doubtful_block = block_of(design, basis - bases.begin());
}

}  // namespace

RemlFit fit_reml(const WorkingModel& model, const Design& design, const std::vector<BlockBasis>& bases,
                 bool scale_known, std::span<const double> start, const Algebra& algebra, Search search) {
  const RemlCriterion criterion(model, design, bases, scale_known, algebra);
  std::vector<double> log_sp = bounded_start(criterion, start);
  const auto leave = [search](const RemlOptimum&) { return search == Search::none; };
  std::optional<RemlOptimum> best = descend(criterion, log_sp, leave);
  // With too little data or penalty, X'WX + S is not positive definite: raise the penalty.
  for (int raise = 0; !best && raise < 4; ++raise) {
    log_sp = criterion.default_start();
    for (double& v : log_sp) v += 5 * raise;
    best = descend(criterion, log_sp, leave);
  }
  if (!best) return criterion.solution(log_sp);  // throws, with the reason
  std::vector<std::vector<double>> others;
  if (search == Search::global) {
    const double evaluations = affordable_evaluations(criterion);
    RemlOptima found = multistart_search(criterion, std::move(*best), evaluations, log_sp);
    *best = std::move(found.lowest);
    others = std::move(found.others);
  }
  RemlFit fit = criterion.solution(best->log_sp);
  for (const auto& other : others) fit.others.push_back(criterion.log_lambda(other));
  fit.gradient = best->at.gradient;
  const Matrix hessian = criterion.whole_hessian(best->at);
  fit.hessian.assign(hessian.values().begin(), hessian.values().end());
  fit.iterations = best->iterations;
  judge(fit, *best, design, bases);
  return fit;
}

RemlFit fit_reml(const WorkingModel& model, const Design& design, bool scale_known,
                 std::span<const double> start) {
  return fit_reml(model, design, penalty_bases(design), scale_known, start, HostAlgebra(), Search::global);
}

}  // namespace TESSERA_NAMESPACE::gam
