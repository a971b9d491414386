// SPDX-License-Identifier: Apache-2.0
#include "gam/reml/search.hpp"

#include "base/at.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Range of a profile on either side of the default, in steps of `spacing`.
constexpr double range = 20;
constexpr double spacing = 0.5;
/// Step size if there is no profile, so that each step costs an evaluation of REML.
constexpr double wide_spacing = 4;
constexpr int evaluations_of_wide = 2;
/// Log smoothing parameter, above the default, at which a term has practically no effect.
constexpr double infinity = 30;
/// A start at infinity is skipped if REML is this much above the optimum, and no other term could take over
/// the effect. In 5,000 random designs, starts that led lower were at most 3 above the optimum.
constexpr double out_of_reach = 20;
/// A term is strongly penalised if its parameter is this far above the default, at which penalties are as
/// large as X'WX on average, and some thousand times smaller for the smoothest functions.
constexpr double strong = 3;
/// Distance from the default of the starts in which all log smoothing parameters are shifted.
constexpr double all_above = 8;
/// REML is flat along a parameter if its derivatives are smaller than this.
constexpr double flat_below = 1e-6;
/// A descent that is about to converge is abandoned if REML exceeds the best by more than `far_above` and by
/// more than `margin` times the predicted decrease. In 5,000 random designs, REML then fell by at most 3.
constexpr double far_above = 10;
constexpr double margin = 100;
/// Minimum relative decrease of REML for another optimum; smaller differences are rounding errors.
constexpr double improvement = 1e-9;
/// Optima whose log smoothing parameters differ by less than this are equal.
constexpr double same_within = 0.1;
/// At most `most_others` minima are kept, up to `undecided` above the lowest (a likelihood ratio of 20). Each
/// may be the lowest in the working model of its own solution.
constexpr double undecided = 3;
constexpr std::size_t most_others = 4;
/// All starts are tried if they take at most this many operations, about a second on one core. Larger models
/// get a fixed number of evaluations per parameter.
constexpr double operations = 1e10;
constexpr int evaluations_a_parameter = 3;
/// With more coefficients, descents run one at a time, because one descent occupies all threads.
constexpr int largest_side_by_side = 512;
constexpr double doubles_at_once = 0x1p27;

/// X'WX + S, its factor, its inverse, products with the inverse, and a copy or two.
constexpr double doubles_of_evaluation(double core_size) {
  return 6 * core_size * core_size;
}

struct RemlStart {
  int rank = 0;  ///< priority of this kind of start, most promising first
  double value = 0;
  std::vector<double> log_sp;
};

bool is_lower(double value, const RemlCriterion::Evaluation& than) {
  return value < than.value - std::max(improvement * (1 + std::abs(than.value)), 10 * than.rounding);
}

bool is_flat(const RemlCriterion::Evaluation& at, std::size_t j) {
  const int row = static_cast<int>(j);
  return std::abs(at.gradient[j]) < flat_below && std::abs(at.hessian(row, row)) < flat_below;
}

std::vector<double> with(std::vector<double> log_sp, std::size_t j, double value) {
  log_sp[j] = value;
  return log_sp;
}

std::vector<double> shifted(std::vector<double> log_sp, double by) {
  for (double& v : log_sp) v += by;
  return log_sp;
}

/// Whether another term than that of parameter j is strongly penalised at the optimum: with a smaller
/// parameter, it may take over the effect of that term. Weakly penalised terms take it over without a search.
bool may_be_replaced(std::span<const double> log_sp, std::size_t j, std::span<const double> centres) {
  for (std::size_t k = 0; k < log_sp.size(); ++k) {
    if (k != j && log_sp[k] > centres[k] + strong) return true;
  }
  return false;
}

/// Adds starts along parameter j through `best`, in steps of `step`. `values_at` evaluates REML there.
void add_along(std::vector<RemlStart>& starts, const RemlOptimum& best, std::size_t j,
               const std::function<std::vector<double>(const std::vector<double>& points)>& values_at,
               double step, const std::vector<double>& centres) {
  const double centre = centres[j];
  const int steps = static_cast<int>(2 * range / step);
  const auto point = [&](int i) { return centre - range + step * i; };
  std::vector<double> points;
  for (int i = 0; i <= steps; ++i) points.push_back(point(i));
  const std::vector<double> values = values_at(points);
  const auto at = [&](int i) {
    return i < 0 || i > steps ? std::numeric_limits<double>::infinity() : values[static_cast<std::size_t>(i)];
  };
  for (int i = 0; i <= steps; ++i) {
    const bool least = at(i) < at(i - 1) && at(i) <= at(i + 1);
    if (!least || std::abs(point(i) - best.log_sp[j]) < std::max(step, 2 * spacing)) continue;
    starts.push_back({is_lower(at(i), best.at) ? 0 : 1, at(i), with(best.log_sp, j, point(i))});
  }
  if (is_flat(best.at, j)) {
    starts.push_back({1, values_at({centre}).front(), with(best.log_sp, j, centre)});
  } else if (values.back() < best.at.value + out_of_reach || may_be_replaced(best.log_sp, j, centres)) {
    starts.push_back({2, values.back(), with(best.log_sp, j, centre + infinity)});
  }
}

void add_along(std::vector<RemlStart>& starts, const RemlOptimum& best, std::size_t j,
               const RemlProfile& profile, const std::vector<double>& centres) {
  const auto values_at = [&](const std::vector<double>& points) {
    std::vector<double> values;
    values.reserve(points.size());
    for (const double point : points) values.push_back(profile.value(point));
    return values;
  };
  add_along(starts, best, j, values_at, spacing, centres);
}

/// REML through `best` along parameter j; infinite if it cannot be evaluated.
std::vector<double> values_along(const RemlCriterion& criterion, const RemlOptimum& best, std::size_t j,
                                 const std::vector<double>& points) {
  std::vector<double> values(points.size());
  const auto evaluate = [&](std::size_t i, const Algebra& algebra) {
    const auto value = criterion.computed_by(algebra).value(with(best.log_sp, j, points[i]));
    values[i] = value.value_or(std::numeric_limits<double>::infinity());
  };
  const auto count = static_cast<int>(points.size());
  const int at_once = std::min(criterion.algebra().at_once(), count);
  // Evaluate concurrently if memory allows; otherwise all threads share each evaluation.
  if (at_once > 1 && at_once * doubles_of_evaluation(criterion.core_size()) <= doubles_at_once) {
    criterion.algebra().for_each(
        count, [&](int i, const Algebra& alone) { evaluate(static_cast<std::size_t>(i), alone); });
  } else {
    for (std::size_t i = 0; i < points.size(); ++i) evaluate(i, criterion.algebra());
  }
  return values;
}

/// Adds starts along each parameter. Parameters infinite at the optimum are profiled from their defaults.
void add_along_each(std::vector<RemlStart>& starts, const RemlCriterion& criterion, const RemlOptimum& best,
                    int& evaluations) {
  const std::vector<double>& centre = criterion.default_start();
  std::vector<int> together;
  for (std::size_t j = 0; j < centre.size(); ++j) {
    if (!criterion.has_profile(static_cast<int>(j))) {
      evaluations += evaluations_of_wide;
      const auto values_at = [&](const std::vector<double>& points) {
        return values_along(criterion, best, j, points);
      };
      add_along(starts, best, j, values_at, wide_spacing, centre);
      continue;
    }
    if (!is_flat(best.at, j) && std::abs(best.log_sp[j] - centre[j]) <= range) {
      together.push_back(static_cast<int>(j));
      continue;
    }
    ++evaluations;
    const std::array<int, 1> alone{static_cast<int>(j)};
    for (const RemlProfile& profile : criterion.profiles(with(best.log_sp, j, centre[j]), alone))
      add_along(starts, best, j, profile, centre);
  }
  ++evaluations;
  const std::vector<RemlProfile> profiles = criterion.profiles(best.log_sp, together);
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const auto j = static_cast<std::size_t>(together[i]);
    add_along(starts, best, j, profiles[i], centre);
  }
}

std::vector<RemlStart> starts_from(const RemlCriterion& criterion, const RemlOptimum& best,
                                   int& evaluations) {
  std::vector<RemlStart> starts;
  add_along_each(starts, criterion, best, evaluations);
  for (const double by : {0.0, all_above, -all_above})
    starts.push_back({3, 0, shifted(criterion.default_start(), by)});
  std::stable_sort(starts.begin(), starts.end(), [](const RemlStart& a, const RemlStart& b) {
    return std::pair(a.rank, a.value) < std::pair(b.rank, b.value);
  });
  return starts;
}

/// Whether a descent is returning to `best`: all parameters are near, or tend to the same infinity.
bool returns_to(const RemlOptimum& now, const RemlOptimum& best, const std::vector<double>& centre) {
  if (is_lower(now.at.value, best.at)) return false;
  for (std::size_t j = 0; j < centre.size(); ++j) {
    const bool as_far =
        is_flat(best.at, j) && best.log_sp[j] > centre[j] && now.log_sp[j] > centre[j] + all_above;
    if (!as_far && std::abs(now.log_sp[j] - best.log_sp[j]) > same_within) return false;
  }
  return true;
}

bool is_same(std::span<const double> a, std::span<const double> b, const std::vector<double>& centre) {
  for (std::size_t j = 0; j < centre.size(); ++j) {
    const bool far = std::min(a[j], b[j]) > centre[j] + all_above;
    if (!far && std::abs(a[j] - b[j]) > same_within) return false;
  }
  return true;
}

/// The search. Its steps and its result are those of sequential descents, whatever the number of threads.
class Multistart {
 public:
  Multistart(const RemlCriterion& criterion, RemlOptimum best, double limit, std::span<const double> tried)
      : criterion_(criterion), best_(std::move(best)), limit_(limit), tried_(tried) {}

  RemlOptima search() {
    if (criterion_.size() > 0 && limit_ > 0) {
      while (try_all(untried(starts_from(criterion_, best_, evaluations_)))) {
      }
    }
    std::vector<std::vector<double>> above = others();
    return {std::move(best_), std::move(above)};
  }

 private:
  using Descent = std::optional<RemlOptimum>;

  [[nodiscard]] std::vector<RemlStart> untried(std::vector<RemlStart> starts) const {
    std::erase_if(starts, [&](const RemlStart& start) { return std::ranges::equal(start.log_sp, tried_); });
    return starts;
  }

  /// Tries starts until a descent ends below the best optimum and replaces it; false if none does.
  bool try_all(const std::vector<RemlStart>& starts) {
    const bool small = criterion_.core_size() <= largest_side_by_side;
    const auto step = small ? base::at(criterion_.algebra().at_once()) : std::size_t{1};
    for (std::size_t begin = 0; begin < starts.size(); begin += step) {
      const std::span some(starts.data() + begin, std::min(step, starts.size() - begin));
      std::vector<Descent> descents = descend_from(some);
      for (std::size_t i = 0; i < some.size(); ++i) {
        if (evaluations_ >= limit_) return false;
        // Concurrent descents do not count each other's evaluations: repeat a descent that exceeds the limit.
        const bool ended = i > 0 && descents[i] && evaluations_ + descents[i]->evaluations >= limit_;
        if (ended) descents[i] = descend_from(criterion_, some[i]);
        if (take(std::move(descents[i]))) return true;
      }
    }
    return false;
  }

  [[nodiscard]] std::vector<Descent> descend_from(std::span<const RemlStart> starts) const {
    if (starts.size() == 1) return {descend_from(criterion_, starts.front())};
    std::vector<Descent> descents(starts.size());
    criterion_.algebra().for_each(static_cast<int>(starts.size()), [&](int i, const Algebra& algebra) {
      const auto index = static_cast<std::size_t>(i);
      descents[index] = descend_from(criterion_.computed_by(algebra), starts[index]);
    });
    return descents;
  }
  [[nodiscard]] Descent descend_from(const RemlCriterion& criterion, const RemlStart& start) const {
    return descend(criterion, start.log_sp, [&](const RemlOptimum& now) {
      if (is_lower(now.at.value, best_.at)) return false;
      return evaluations_ + now.evaluations >= limit_ || ends_above(now) ||
             returns_to(now, best_, criterion.default_start());
    });
  }
  [[nodiscard]] bool ends_above(const RemlOptimum& now) const {
    const std::optional<double> fall = fall_ahead(now.at);
    return fall && now.at.value - std::max(margin * *fall, far_above) > best_.at.value;
  }

  /// Counts a descent's evaluations. True if the descent ended below the best optimum.
  bool take(Descent descent) {
    if (!descent) return false;
    evaluations_ += descent->evaluations;
    // If the best optimum has converged, a lower REML without convergence is rounding error.
    if (!is_lower(descent->at.value, best_.at) || (best_.converged && !descent->converged)) {
      if (descent->converged) minima_.emplace_back(descent->at.value, std::move(descent->log_sp));
      return false;
    }
    best_ = std::move(*descent);
    return true;
  }

  [[nodiscard]] std::vector<std::vector<double>> others() {
    std::ranges::stable_sort(minima_, {}, &std::pair<double, std::vector<double>>::first);
    const std::vector<double>& centre = criterion_.default_start();
    std::vector<std::vector<double>> found;
    for (auto& [value, log_sp] : minima_) {
      if (value > best_.at.value + undecided || found.size() == most_others) break;
      const auto same = [&, &log_sp = log_sp](const auto& other) { return is_same(log_sp, other, centre); };
      if (!same(best_.log_sp) && std::ranges::none_of(found, same)) found.push_back(std::move(log_sp));
    }
    return found;
  }

  const RemlCriterion& criterion_;
  RemlOptimum best_;
  double limit_;  ///< maximum number of evaluations
  std::span<const double> tried_;
  int evaluations_ = 0;
  std::vector<std::pair<double, std::vector<double>>> minima_;  ///< minima above the best: REML, parameters
};

}  // namespace

RemlOptima multistart_search(const RemlCriterion& criterion, RemlOptimum best, double evaluations,
                             std::span<const double> tried) {
  return Multistart(criterion, std::move(best), evaluations, tried).search();
}

double doubles_of_evaluations(double core_size, int count) {
  return std::min(doubles_at_once, count * doubles_of_evaluation(core_size));
}

double affordable_evaluations(const RemlCriterion& criterion) {
  const double many = operations / criterion.work();
  const double some = evaluations_a_parameter * criterion.size();
  // Second derivatives are inexact only for effects whose levels share many rows: REML then has one minimum.
  if (!criterion.is_exact() && many < some) return 0;
  return std::max(many, some);
}

}  // namespace TESSERA_NAMESPACE::gam
