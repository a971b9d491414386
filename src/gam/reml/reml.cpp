// SPDX-License-Identifier: Apache-2.0
#include "gam/reml/reml.hpp"

#include "gam/linalg/linalg.hpp"
#include "gam/reml/criterion.hpp"
#include "gam/reml/search.hpp"

#include <tessera/error.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace tessera::gam {
namespace {

/// A start further than this above the default may be where V is flat, and Newton's method would stay there.
constexpr double start_above = 10;
constexpr double start_below = 20;

std::vector<double> bounded_start(const RemlCriterion& criterion, std::span<const double> start) {
  std::vector<double> log_sp = criterion.default_start();
  for (std::size_t j = 0; j < std::min(log_sp.size(), start.size()); ++j) {
    log_sp[j] = std::clamp(start[j], log_sp[j] - start_below, log_sp[j] + start_above);
  }
  return log_sp;
}

}  // namespace

RemlFit fit_reml(const WorkingModel& model, const Design& design, const std::vector<BlockBasis>& bases,
                 bool scale_known, std::span<const double> start, const Algebra& algebra, Search search) {
  const RemlCriterion criterion(model, design, bases, scale_known, algebra);
  std::vector<double> log_sp = bounded_start(criterion, start);
  std::optional<RemlOptimum> best = descend(criterion, log_sp);
  // Too little data for so little penalty: more penalty makes the crossproduct positive definite.
  for (int raise = 0; !best && raise < 4; ++raise) {
    log_sp = criterion.default_start();
    for (double& v : log_sp) v += 5 * raise;
    best = descend(criterion, log_sp);
  }
  if (!best) return criterion.solution(log_sp);  // throws, and says why
  if (search == Search::global) {
    const double evaluations = affordable_evaluations(criterion);
    *best = search_elsewhere(criterion, std::move(*best), evaluations, log_sp);
  }
  RemlFit fit = criterion.solution(best->log_sp);
  fit.iterations = best->iterations;
  fit.converged = best->converged;
  return fit;
}

RemlFit fit_reml(const WorkingModel& model, const Design& design, bool scale_known,
                 std::span<const double> start) {
  return fit_reml(model, design, penalty_bases(design), scale_known, start, HostAlgebra(), Search::global);
}

}  // namespace tessera::gam
