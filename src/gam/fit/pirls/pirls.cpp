// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/pirls/pirls.hpp"

#include "base/math/elementary.hpp"
#include "gam/fit/coordinates/crowded_variables.hpp"
#include "gam/fit/pirls/family_parameters.hpp"
#include "gam/fit/pirls/fit_checkpoint.hpp"
#include "gam/fit/pirls/invalid_rows.hpp"
#include "gam/fit/pirls/prepare_rows.hpp"
#include "gam/fit/pirls/separation.hpp"
#include "gam/fit/pirls/starting_point.hpp"
#include "gam/fit/pirls/step_halving.hpp"
#include "gam/fit/pirls/step_mixing.hpp"
#include "gam/linalg/linalg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr int fault_halvings = 30;
/// Sums are formed again if their sum of squares exceeds the residual sum of squares by this factor.
constexpr double far_base = 1e3;
/// Residual sum of squares, relative to the response's, below which residuals are rounding errors of some
/// hundred ulp: a noise-free response does not determine smoothing parameters.
constexpr double rounding_share = 1e-26;
/// A row is at an edge of the link's range if its distance is below this fraction of the mean's predictor.
constexpr double edge = 1e-7;
/// A step longer than this, in the linear predictor, leads to another solution instead of converging to the
/// current one.
constexpr double to_another = 1e-6;
/// A solution is better if its criterion is lower by this fraction; smaller differences are rounding errors.
constexpr double better = 1e-8;
/// A step leads to a known solution if its length is at most `short_pirls_step`, and its end has the deviance
/// of the solution within `same_deviance`.
constexpr double short_pirls_step = 1e-3;
constexpr double same_deviance = 1e-6;
/// Number of first steps that hold a family's `late_predictor` at its start.
constexpr int early_steps = 5;
constexpr int steps_to_another = 50;

/// Deviance after a step in the raw columns of an unweighted model, from the sums at the step's start. Empty
/// without an intercept, or if cancellation loses too many digits.
std::optional<RawDeviance> deviance_after(const RawSums& sums, const Design& design,
                                          std::span<const double> step) {
  constexpr double most_cancelled = 1e5;
  const CoefBlock* const intercept = design.intercept();
  if (intercept == nullptr) return {};
  const std::vector<double> across = multiply(sums.gram, step);
  double deviance = sums.deviance;
  double size = 0;
  for (std::size_t i = 0; i < step.size(); ++i) {
    deviance -= step[i] * (2 * sums.gradient[i] - across[i]);
    size += std::abs(step[i]) * std::sqrt(sums.gram(static_cast<int>(i), static_cast<int>(i)));
  }
  if (!(sums.deviance + size * size < most_cancelled * deviance)) return {};
  const auto one = static_cast<std::size_t>(intercept->raw_begin);
  return RawDeviance{deviance, 0, sums.gradient[one] - across[one], deviance};
}

double size_of(double deviance) {
  return 0.1 + std::abs(deviance);
}

}  // namespace

bool is_unweighted(const Rows& rows) {
  return rows.family.linear() && rows.prior_weight < 0 && !rows.series.correlated();
}

bool is_finite(const RawSums& sums) {
  return sums.bad_rows == 0 && std::isfinite(sums.deviance);
}

RawSums first_sums(const FitContext& fit, RowPass& pass, const Rows& rows, const RawMoments& moments) {
  const std::vector<double> coef = first_coefficients(*rows.design, rows.family, moments);
  return fit.sums_of(pass, [&] {
    return has_own_start(rows.family) ? pass.start() : pass.step(rows.design->raw_coefficients(coef));
  });
}

PirlsLoop::PirlsLoop(const FitContext& fit, RowPass& pass, Rows& rows, const RawMoments& moments)
    : fit_(fit),
      pass_(pass),
      rows_(rows),
      design_(*rows.design),
      moments_(moments),
      mean_(moments.mean_response()),
      solver_(fit.job, design_, rows.family.scale().has_value(), fit.plan.on_devices(),
              fit.job.options().stop, fit.options.gamma),
      row_count_(rows.frame->complete_rows) {}

void PirlsLoop::run(std::optional<RawSums> first) {
  const int done = resume();
  if (done == 0 && !starts_from_sample()) begin(std::move(first));
  if (!is_finite(sums_)) throw diverged(done == 0 && has_own_start(rows_.family));
  if (rows_.family.linear()) return solve_gaussian();
  deviance_ = sums_.deviance;
  int iteration = done + 1;
  while (advance(iteration)) ++iteration;
}

/// Sets the sums of the first working model.
void PirlsLoop::begin(std::optional<RawSums> first) {
  end_.coef = first_coefficients(design_, rows_.family, moments_);
  sums_ = first ? *std::move(first) : first_sums(fit_, pass_, rows_, moments_);
  find_first_parameters();
}

/// The linear predictor whose coefficients the step does not change; -1: none.
int PirlsLoop::held_predictor(int iteration) const {
  const SeveralFamily* const several = rows_.family.several();
  return several != nullptr && !course_.from_sample && iteration <= early_steps ? several->late_predictor()
                                                                                : -1;
}

/// Returns the number of iterations that a resumed run has done.
int PirlsLoop::resume() {
  if (fit_.checkpoint == nullptr) return 0;
  const std::optional<FitState>& state = fit_.checkpoint->resumed();
  if (!state || state->iteration == 0) return 0;
  check_state(*state, design_, rows_.family, fit_.checkpoint->path());
  set_parameters(state->parameters);
  end_.coef = state->coef;
  end_.solution.log_sp = state->log_sp;
  course_ = state->course;
  sums_ = sums_at(end_.coef);
  return state->iteration;
}

/// One step suffices because the working model does not depend on the coefficients. The step computes the
/// residual sum of squares at its end from the sums at its start, and loses digits if the start is far off.
/// In this case the sums are formed again at the end.
void PirlsLoop::solve_gaussian() {
  if (is_unweighted(rows_) && rows_.offsets.empty()) {
    const std::vector<double> none(static_cast<std::size_t>(design_.raw_size));
    end_.deviances.null = deviance_after(sums_, design_, none);
  }
  solve_from_end(Search::global);
  const auto residual_df = static_cast<double>(rows_.frame->complete_rows - design_.null_space());
  if (sums_.deviance > far_base * end_.solution.scale * residual_df) {
    const double level = sums_.deviance + moments_.sum_weight * mean_ * mean_;
    sums_ = sums_at(end_.coef);
    end_.deviances.left.reset();
    if (!is_finite(sums_)) throw diverged();
    if (sums_.deviance > rounding_share * level) solve_from_end(Search::local);
  }
  end_.converged = end_.solution.converged;
  end_.iterations = 1;
  if (!end_.converged) end_.why_not_converged = why_no_minimum();
}

/// The single step of a Gaussian model, from the coefficients at which `sums_` were formed.
void PirlsLoop::solve_from_end(Search search) {
  const std::vector<double> begin = design_.raw_coefficients(end_.coef);
  solve(search);
  if (!is_unweighted(rows_)) return;
  end_.deviances.left =
      deviance_after(sums_, design_, difference(design_.raw_coefficients(end_.coef), begin));
}

/// False after the last iteration.
bool PirlsLoop::advance(int iteration) {
  const std::vector<double> begin = end_.coef;
  const int held = held_predictor(iteration);
  const bool first = iteration == 1 && !course_.from_sample;
  try {
    solve(course_.phase == Phase::searching ? Search::global : Search::local, held);
  } catch (const Error& error) {
    // Columns that were independent in the first working model can only become dependent if weights vanish.
    const bool of_model = error.code() == ErrorCode::not_converged || error.code() == ErrorCode::input;
    if (!of_model || end_.solution.coef.empty()) throw;
    if (ends_at_edge(iteration)) return false;
    return goes_on_without(iteration, error);
  }
  if (course_.phase == Phase::searching && confirms_solution()) {
    last_step_ = difference(end_.solution.coef, begin);
    end_.iterations = iteration - 1;
    end_.converged = true;
    if (!is_separated(0, true) && is_at_edge(end_.coef)) note_edge();
    return false;
  }
  go_to_end_of_step(begin, first);
  if (!is_finite(sums_)) {
    if (first) throw diverged();
    const Error why = diverged();
    end_.coef = begin;
    return goes_on_without(iteration, why);
  }
  move_parameters();
  const double change = std::abs(sums_.deviance - deviance_);
  deviance_ = sums_.deviance;
  end_.iterations = iteration;
  tell(iteration, change);
  const bool still = held < 0 && is_stationary(change, begin);
  end_.converged = settle(still && end_.solution.converged, iteration >= fit_.options.max_iterations);
  last_step_ = difference(end_.solution.coef, begin);  // before mixing and halving
  // At a solution, only the search for other solutions continues.
  const bool at_solution = course_.phase != Phase::settling;
  const bool last = end_.converged || !end_.why_not_converged.empty() ||
                    iteration >= fit_.options.max_iterations + (at_solution ? steps_to_another : 0);
  if (is_separated(change / size_of(deviance_), last)) return false;
  if (last) {
    if (end_.converged && rows_.family.several()) {
      solve(Search::local);  // the Hessian at the end gives the covariances
      end_.converged = end_.solution.converged;
    }
    explain_not_converged(change);
    if (end_.converged && is_at_edge(end_.coef)) note_edge();
    return false;
  }
  keep(iteration);
  return true;
}

/// Computes the sums at the end of the step from `begin`. May halve the step.
void PirlsLoop::go_to_end_of_step(std::vector<double> begin, bool first) {
  // Other families halve the step towards zero coefficients, which may keep all rows in the range.
  const bool adjusted = rows_.family.start() == Start::adjusted || rows_.family.side() != 0;
  if (first && adjusted && starts_within_range()) begin = constant_coefficients().value_or(begin);
  halve_step(begin, first);
  if (first) begin_again_if_worse_than_the_mean();
}

/// Whether the global search at a solution finds neither another minimum nor a step worth a pass over the
/// rows.
bool PirlsLoop::confirms_solution() const {
  return end_.solution.converged && end_.solution.step <= fit_.options.step_tolerance &&
         end_.solution.others.empty();
}

/// The length of the next Newton step, predicted to shrink at least as much as the last one did.
double PirlsLoop::next_step(double before) const {
  return course_.step < before ? course_.step / before * course_.step : course_.step;
}

/// Whether the last step, which changed the deviance by `change`, was negligible. At the edge of the link's
/// range, weights are unbounded and the deviance changes by the square of a step's length, so longer steps
/// count as negligible. A step also counts as negligible if the next step, predicted to shrink by the
/// same factor, is negligible.
bool PirlsLoop::is_stationary(double change, std::span<const double> begin) {
  last_change_ = change;
  const double before = std::exchange(course_.step, end_.solution.step);
  const bool is_full = end_.coef == end_.solution.coef;
  if (rows_.family.several() && course_.step < before && is_full)
    return next_step(before) <= fit_.options.step_tolerance;
  constexpr double fast = 0.1;
  // The length of a step does not include a change of the family's parameters.
  if (!rows_.family.estimates_parameters() && is_full && course_.step < fast * before &&
      next_step(before) <= fit_.options.step_tolerance &&
      change * (course_.step / before) < fit_.options.tolerance * size_of(deviance_))
    return true;
  constexpr double change_at_edge = 1e-10;
  constexpr double step_at_edge = 1e-4;
  if (!(change < change_at_edge * size_of(deviance_))) return false;
  const double step = end_.solution.step;
  if (change < fit_.options.tolerance * size_of(deviance_) && step <= fit_.options.step_tolerance)
    return true;
  return step <= step_at_edge && is_at_edge(begin);
}

/// Whether rows are at the edge of the link's range, and the step from `begin` moved none away from the edge.
bool PirlsLoop::is_at_edge(std::span<const double> begin) {
  if (!rows_.family.predictors().any()) return false;
  const RowsAtEdge found =
      rows_at_edge(fit_, rows_, design_.raw_coefficients(begin), design_.raw_coefficients(end_.coef),
                   edge * std::abs(predictor_of(rows_.family, mean_)));
  rows_at_edge_ = found.count;
  return found.count > 0 && found.leaving == 0;
}

/// Whether the iteration ends because rows are at the edge of the link's range. Their weights dominate all
/// others, and the working model may have no solution. The end is a solution if the last step was negligible.
bool PirlsLoop::ends_at_edge(int iteration) {
  constexpr double next_to_nothing = 1e-8;
  if (course_.phase == Phase::elsewhere || !is_at_edge(end_.coef)) return false;
  end_.iterations = iteration - 1;
  end_.converged = end_.solution.converged && last_change_ < next_to_nothing * size_of(deviance_);
  if (end_.converged)
    note_edge();
  else
    end_.why_not_converged = fmt::format(
        "{}, but {} row{} so near this limit that their weights dominate the fit: use another link",
        needed_predictor(rows_.family), rows_at_edge_, rows_at_edge_ == 1 ? " is" : "s are");
  return true;
}

void PirlsLoop::note_edge() const {
  fit_.observer.note(
      fmt::format("{}, but {} row{} at this limit, and the likelihood increases beyond the limit: standard "
                  "errors and tests ignore the limit",
                  needed_predictor(rows_.family), rows_at_edge_, rows_at_edge_ == 1 ? " is" : "s are"));
}

/// Called after an iteration without a finite state. Returns true after giving up the path to another
/// solution; otherwise false, and the fit ends with the previous iteration.
bool PirlsLoop::goes_on_without(int iteration, const Error& why) {
  if (course_.phase != Phase::elsewhere) {
    end_before(iteration, why);
    return false;
  }
  end_.iterations = iteration;
  try_next_minimum();
  keep(iteration);
  return true;
}

/// Calls `solve`. If it finds no solution, the error also names a variable with outliers, if there is one.
template <class Solve>
auto PirlsLoop::with_crowding(const Solve& solve) const {
  try {
    return solve();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_converged) throw;
    for (const CoefBlock& block : design_.blocks) {
      if (!block.penalty) continue;
      const std::string where = crowding(fit_.job, rows_, block);
      if (!where.empty()) throw Error(error.code(), fmt::format("{}: {}", error.what(), where));
    }
    throw;
  }
}

/// Solves the working model, and moves the coefficients, except those of predictor `held`, to the step's end.
void PirlsLoop::solve(Search search, int held) {
  PhaseClock clock(fit_.job.comm(), fit_.phases, "reml", "the search for smoothing parameters");
  ++course_.steps;
  // At an edge of the link's range, steps depend on the distance to the edge, and do not predict later steps.
  const Family& family = rows_.family;
  const bool has_thresholds = family.has_classes() && !family.several();
  const int first_mixed = has_thresholds          ? first_mixed_of_classes
                          : family.limits().any() ? first_mixed_where_separable
                          : family.several()      ? first_mixed_of_several
                                                  : first_mixed_iteration;
  const bool remembered = course_.steps + (has_thresholds ? 2 : 0) >= first_mixed && !is_at_edge(end_.coef);
  const bool mixed = remembered && course_.steps >= first_mixed;
  auto solution = with_crowding([&] {
    return solver_.solve(sums_, end_.coef, end_.solution.log_sp, row_count_, mixed ? &course_.past : nullptr,
                         search, rows_.family.scale().value_or(1), held);
  });
  fit_.require_no_fallback();
  const std::string& why = solver_.no_device_algebra();
  if (!why.empty() && end_.solution.coef.empty())
    fit_.observer.note("large matrix products run on the hosts: " + why);
  end_.solution = std::move(*solution);
  if (remembered) remember_step();
  end_.coef = end_.solution.end;
}

/// Computes the sums at the end of the step, and halves the step while they are not finite. Except for the
/// `first` step and correlated rows, it also halves while the penalised deviance is above its value at the
/// start. All ranks have the same sums and penalty, and so make the same passes.
void PirlsLoop::halve_step(std::span<const double> begin, bool first) {
  look_at_end();
  cut_short_ = false;
  // With several linear predictors the first step is a Newton step from a given start, and may be halved.
  const bool several = rows_.family.several() != nullptr;
  first = first && !several;
  // If sums were not finite, halve once more: half-way to the edge no row's weight dominates.
  bool may_be_near = rows_.family.start() == Start::adjusted && rows_.family.predictors().any();
  const bool is_mixed = end_.solution.end != end_.solution.coef;
  double fraction = 1;
  for (int faults = 0, rises = 0;;) {
    if (!is_finite(sums_)) {
      cut_short_ = true;
      if (++faults > fault_halvings) return;
    } else if (cut_short_ && may_be_near) {
      may_be_near = false;
    } else {
      const PenaltyOnLine& penalty = end_.solution.penalty;
      // With correlated rows steps need not lower the deviance, which treats rows as independent.
      const bool risen = !first && !rows_.series.correlated() &&
                         is_rise(deviance_ + penalty.begin, sums_.deviance + penalty.at(fraction),
                                 is_mixed ? rise_of_mixed_step : rise_of_step);
      if (!risen || ++rises > (several ? newton_halvings : rise_halvings)) return;
    }
    fraction /= 2;
    for (std::size_t i = 0; i < begin.size(); ++i) end_.coef[i] = (end_.coef[i] + begin[i]) / 2;
    look_at_end();
  }
}

/// Computes the sums at `end_.coef`, or only the deviance if the family's parameters move next.
void PirlsLoop::look_at_end() {
  if (!rows_.family.estimates_parameters()) {
    sums_ = sums_at(end_.coef);
    return;
  }
  const RawDeviance found =
      fit_.sums_of(pass_, [&] { return pass_.deviance(design_.raw_coefficients(end_.coef)); });
  sums_.deviance = found.deviance;
  sums_.bad_rows = found.bad_rows;
}

/// Maximises the likelihood over the family's parameters at the means of `end_.coef`, and updates the sums.
void PirlsLoop::move_parameters() {
  if (!rows_.family.estimates_parameters()) return;
  const std::vector<double> unit = unit_coefficients(design_);
  // Thresholds of classes change with the coefficients, so approximate ones suffice.
  LikeliestParameters found =
      likeliest_parameters(fit_, pass_, rows_.family, design_.raw_coefficients(end_.coef), !unit.empty(),
                           rows_.family.has_classes() ? rough_gain : small_gain);
  end_.parameters_determined = found.determined;
  minus_log_ = found.minus_log;
  const double shift = hold_first_threshold(found.values);
  if (!unit.empty()) add_multiple(end_.coef, shift, unit);
  set_parameters(std::move(found.values));
  sums_ = sums_at(end_.coef);
}

/// Maximises the likelihood over the family's parameters at a constant mean, so that the first working model
/// does not depend on the unit of the response.
void PirlsLoop::find_first_parameters() {
  if (!rows_.family.estimates_parameters()) return;
  const auto mean = coefficients_of_mean(design_, rows_.family, mean_);
  if (!mean) return;
  std::vector<double> values =
      likeliest_parameters(fit_, pass_, rows_.family, design_.raw_coefficients(*mean), true, rough_gain)
          .values;
  hold_first_threshold(values);
  set_parameters(std::move(values));
  sums_ = first_sums(fit_, pass_, rows_, moments_);
}

/// Shifts the thresholds of classes so that the first keeps its value. Returns the shift.
double PirlsLoop::hold_first_threshold(std::vector<double>& values) const {
  if (!rows_.family.has_classes()) return 0;
  const double first = rows_.family.parameters()[0];
  const double shift = first - values[0];
  for (double& value : values) value += shift;
  values[0] = first;
  return shift;
}

void PirlsLoop::set_parameters(std::vector<double> parameters) {
  rows_.family = rows_.family.at(parameters);
  pass_.set_parameters(std::move(parameters));
}

/// Whether the first means are the responses, within the family's range, and a step may leave this range.
bool PirlsLoop::starts_within_range() const {
  return has_own_start(rows_.family) && rows_.family.predictors().any();
}

/// Coefficients of a constant mean; the first step from the responses is halved towards them.
std::optional<std::vector<double>> PirlsLoop::constant_coefficients() const {
  if (!starts_within_range()) return coefficients_of_mean(design_, rows_.family, mean_);
  return inner_coefficients({fit_.job.comm(), fit_.job.host_team()}, rows_, mean_);
}

/// Restarts at a constant mean if the first step from the responses ended at a larger deviance. This happens
/// because the step fits the transformed responses, such as the logarithm of values near zero.
void PirlsLoop::begin_again_if_worse_than_the_mean() {
  if (rows_.family.start() != Start::response && !starts_within_range()) return;
  const auto mean = constant_coefficients();
  if (!mean) return;
  const RawDeviance at_mean =
      fit_.sums_of(pass_, [&] { return pass_.deviance(design_.raw_coefficients(*mean)); });
  if (at_mean.bad_rows > 0 || (is_finite(sums_) && !(at_mean.deviance < sums_.deviance))) return;
  end_.coef = *mean;
  sums_ = sums_at(end_.coef);
}

/// Whether the last step is along a direction of separation: the model then has no finite estimate, even if
/// its deviance is stationary. `change`: the relative change of the deviance; `ends`: whether this is the
/// last step.
bool PirlsLoop::is_separated(double change, bool ends) {
  constexpr double worth_a_look = 1e-7;
  constexpr double still = 1e-7;         // largest step of the other rows
  constexpr double almost_still = 1e-3;  // the same limit in the last iteration
  const bool without_end = ends && !end_.converged && rows_.family.has_classes();
  const bool may_be = rows_.family.limits().any() || rows_.family.has_classes();
  if (!may_be || !(change < worth_a_look || without_end) || last_step_.empty()) return false;
  if (course_.phase == Phase::elsewhere) return false;
  PhaseClock clock(fit_.job.comm(), fit_.phases, "rows", "the search for separation");
  const auto reason =
      find_separation(fit_.job, rows_, design_.raw_coefficients(end_.coef),
                      design_.raw_coefficients(last_step_), ends ? almost_still : still, without_end);
  if (!reason) return false;
  end_.no_estimate = *reason;
  end_.why_not_converged.clear();
  end_.converged = false;
  return true;
}

/// Whether the fit has converged. `still`: the iteration is at a solution. The next iteration then also
/// searches for other minima of REML, lower or slightly higher. The fit continues from each of them to find
/// other solutions. REML of a working model cannot compare two solutions, because either may be better in the
/// other's working model. Laplace's approximation of REML can, because it depends on no working model.
/// `hurry`: end without further search.
bool PirlsLoop::settle(bool still, bool hurry) {
  switch (course_.phase) {
    case Phase::settling:
      if (rows_.family.several()) return still;  // generalised Fellner-Schall steps find one minimum
      if (still) search_other_minima();
      return false;
    case Phase::searching:
      if (still) {
        if (hurry || end_.solution.others.empty()) return true;
        course_.untried = end_.solution.others;
        try_next_minimum();
      } else {
        const bool another = end_.solution.step > to_another;
        course_.phase = another ? Phase::elsewhere : Phase::settling;
        if (another) course_.untried = end_.solution.others;
      }
      return false;
    case Phase::elsewhere:
      if (still && criterion() < course_.best.criterion - better * (1 + std::abs(course_.best.criterion))) {
        search_other_minima();
      } else if (still || leads_to_known() || hurry || course_.steps >= steps_to_another) {
        course_.known.push_back(deviance_);
        if (hurry) course_.untried.clear();
        try_next_minimum();
      }
      return false;
    case Phase::returning: return still;
  }
  return false;
}

void PirlsLoop::search_other_minima() {
  const std::span<const double> parameters = rows_.family.parameters();
  course_.phase = Phase::searching;
  course_.best = {end_.coef, end_.solution.log_sp, {parameters.begin(), parameters.end()}, criterion()};
  course_.known.push_back(deviance_);
  course_.past.clear();
  course_.steps = 0;
}

bool PirlsLoop::leads_to_known() const {
  return end_.solution.step <= short_pirls_step && std::ranges::any_of(course_.known, [&](double deviance) {
           return std::abs(deviance - deviance_) <= same_deviance * size_of(deviance_);
         });
}

void PirlsLoop::try_next_minimum() {
  course_.past.clear();
  course_.steps = 0;
  end_.coef = course_.best.coef;
  end_.solution.log_sp = course_.best.log_sp;
  course_.phase = course_.untried.empty() ? Phase::returning : Phase::elsewhere;
  if (course_.phase == Phase::elsewhere) {
    end_.solution.log_sp = std::move(course_.untried.front());
    course_.untried.erase(course_.untried.begin());
  }
  fit_.observer.now(course_.phase == Phase::elsewhere ? "continuing from another minimum of REML"
                                                      : "returning to the solution with the lowest REML");
  set_parameters(course_.best.parameters);
  sums_ = sums_at(end_.coef);
  deviance_ = sums_.deviance;
}

/// REML at a solution by Laplace's approximation: REML of the working model with the residual sum of squares
/// replaced by the deviance, or by the likelihood if family parameters are estimated.
double PirlsLoop::criterion() const {
  const WorkingSolution& at = end_.solution;
  const double gamma = fit_.options.gamma;
  const double rows = static_cast<double>(rows_.frame->complete_rows) / gamma;
  if (!rows_.family.scale()) {
    const double freedom = rows - design_.null_space();
    return at.score + freedom / 2 * base::log1p((sums_.deviance - sums_.residual) / at.penalised_deviance);
  }
  const double scale = *rows_.family.scale();
  if (!rows_.family.estimates_parameters())
    return at.score + (sums_.deviance - sums_.residual) / (2 * scale * gamma);
  // Replaces the working model's Gaussian likelihood by the family's, which includes the scale of each row.
  return at.score - sums_.residual / (2 * scale * gamma) - rows / 2 * base::log(scale) + minus_log_ / gamma;
}

void PirlsLoop::explain_not_converged(double change) {
  if (end_.converged || !end_.why_not_converged.empty()) return;
  if (cut_short_) {
    end_.why_not_converged = "full steps are impossible, because at the end of a full step " +
                             first_invalid_row(fit_.job, rows_, design_.raw_coefficients(end_.solution.end));
    return;
  }
  const bool moves = end_.solution.step > fit_.options.step_tolerance ||
                     change >= fit_.options.tolerance * size_of(deviance_);
  end_.why_not_converged = end_.solution.converged || moves
                               ? fmt::format(
                                     "the last iteration changed the deviance by {:.2g}, with a relative "
                                     "step of {:.2g} in the linear predictor: try more iterations",
                                     change * deviance_unit(rows_), end_.solution.step)
                               : why_no_minimum();
}

/// Why REML has no minimum in the range of smoothing parameters.
std::string PirlsLoop::why_no_minimum() const {
  if (!end_.solution.definite)
    return "the log likelihood has no maximum at the last iterate, because its negative Hessian is not "
           "positive definite: remove terms, or use a smaller k";
  const CoefBlock& block = design_.blocks[static_cast<std::size_t>(end_.solution.doubtful_block)];
  const std::string what =
      end_.solution.hidden_by_rounding
          ? fmt::format(
                "{} has functions that are almost linearly dependent in the complete rows, so its smoothing "
                "parameter cannot be computed in double precision",
                block.label)
          : fmt::format("the search found no minimum of REML in the smoothing parameters of {}", block.label);
  const std::string where = crowding(fit_.job, rows_, block);
  return where.empty() ? what + ": use a smaller k, or remove the smooth" : what + ": " + where;
}

/// Ends the fit with the previous iteration, because `iteration` has no finite state.
void PirlsLoop::end_before(int iteration, const Error& why) {
  end_.converged = false;
  end_.iterations = iteration - 1;
  end_.why_not_converged = fmt::format("iteration {}: {}", iteration, why.what());
  fit_.observer.note(end_.why_not_converged);
  static_cast<void>(is_separated(0, true));
}

/// Checkpoints the state. Not called after the last iteration: a resumed run repeats it.
void PirlsLoop::keep(int iteration) {
  if (fit_.checkpoint == nullptr) return;
  fit_.checkpoint->keep({.iteration = iteration,
                         .deviance = deviance_,
                         .coef = end_.coef,
                         .log_sp = end_.solution.log_sp,
                         .parameters = {rows_.family.parameters().begin(), rows_.family.parameters().end()},
                         .course = course_,
                         .hardware = {},
                         .why_on_cpu = {}});
}

/// Describes why the sums are not finite at the last coefficients, or at the family's own start.
Error PirlsLoop::diverged(bool at_own_start) const {
  const std::string fault =
      at_own_start ? "" : first_invalid_row(fit_.job, rows_, design_.raw_coefficients(end_.coef));
  const bool of_range = !fault.empty() && rows_.family.predictors().any();
  return {ErrorCode::not_converged,
          fmt::format("the iteration diverged: {:.0f} rows have no working weight or no finite deviance{}{}",
                      sums_.bad_rows, fault.empty() ? "" : ": " + fault,
                      of_range ? unlimited_link()
                      : rows_.family.custom() != nullptr && !fault.empty()
                          ? ""
                          : "; check the response, offset and weights for extreme values")};
}

std::string PirlsLoop::unlimited_link() const {
  for (const std::string_view name : rows_.family.link_names()) {
    if (!rows_.family.linked(name)->predictors().any())
      return fmt::format(
          "; add an intercept to the formula, or use the link {}, whose linear predictor has no limits",
          name);
  }
  return "; add an intercept to the formula";
}

void PirlsLoop::remember_step() {
  course_.past.push_back({end_.coef, difference(end_.solution.coef, end_.coef)});
  if (course_.past.size() > max_past_steps) course_.past.erase(course_.past.begin());
}

void PirlsLoop::tell(int iteration, double change) const {
  const double unit = deviance_unit(rows_);
  std::string parameters;
  if (rows_.family.estimates_parameters()) {
    const auto names = rows_.family.parameter_names();
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!rows_.family.estimates(i)) continue;
      parameters += fmt::format(", {} {:.6g}", names[i], rows_.family.parameters()[i]);
    }
  }
  fit_.observer.now(fmt::format("iteration {}: deviance {:.8g}, change {:.2g}, step {:.2g}, edf {:.2f}{}",
                                iteration, deviance_ * unit, change * unit, end_.solution.step,
                                end_.solution.edf_total, parameters));
}

RawSums PirlsLoop::sums_at(std::span<const double> coef) {
  return fit_.sums_of(pass_, [&] { return pass_.step(design_.raw_coefficients(coef)); });
}

}  // namespace TESSERA_NAMESPACE::gam
