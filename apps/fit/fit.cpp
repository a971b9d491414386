// SPDX-License-Identifier: Apache-2.0
#include "fit.hpp"

#include "build_design.hpp"
#include "centred_by.hpp"
#include "fit_keeper.hpp"
#include "fit_memory.hpp"
#include "identifiability.hpp"
#include "linalg.hpp"
#include "parallel_blocks.hpp"
#include "residual_sample.hpp"
#include "response_check.hpp"
#include "rows.hpp"
#include "separation.hpp"
#include "standardise.hpp"
#include "step_halving.hpp"
#include "step_mixing.hpp"
#include "term_tests.hpp"
#include "user_coordinates.hpp"
#include "working_solver.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <tessera/device/trace.hpp>
#include <tessera/error.hpp>
#include <tessera/topology/memory_shortage.hpp>
#include <utility>

namespace tessera::fit {
namespace {

using Clock = std::chrono::steady_clock;

/// Adds the time of a phase to the report when it goes out of scope, and marks it for profilers.
class PhaseClock {
 public:
  /// `purpose`: of the phase's collectives, for people who look for the rank that did not come.
  PhaseClock(const mpi::Communicator& comm, std::vector<PhaseTime>& phases, std::string name,
             std::string purpose)
      : phases_(phases), name_(std::move(name)), purpose_(comm, std::move(purpose)) {}
  ~PhaseClock() {
    const std::chrono::duration<double> elapsed = Clock::now() - start_;
    const auto found = std::find_if(phases_.begin(), phases_.end(),
                                    [&](const PhaseTime& phase) { return phase.name == name_; });
    PhaseTime& phase = found != phases_.end() ? *found : phases_.emplace_back(PhaseTime{name_, 0, 0});
    phase.seconds += elapsed.count();
    phase.bytes += bytes_;
  }
  PhaseClock(const PhaseClock&) = delete;
  PhaseClock& operator=(const PhaseClock&) = delete;

  void add_bytes(std::int64_t bytes) { bytes_ += bytes; }

 private:
  std::vector<PhaseTime>& phases_;
  std::string name_;
  mpi::Purpose purpose_;
  TraceRange range_{name_.c_str()};
  Clock::time_point start_ = Clock::now();
  std::int64_t bytes_ = 0;
};

/// A two-level factor is a binomial response as in R: the first level is failure.
void make_numeric_response(Variable& response, const AnyFamily& family) {
  if (!response.factor) return;
  if (response.levels.size() == 1)
    throw Error(ErrorCode::input, fmt::format("the response '{}' is '{}' in every complete row: there is "
                                              "nothing to fit",
                                              response.name, response.levels[0]));
  if (family.kind != Family::binomial || response.levels.size() != 2) {
    throw Error(ErrorCode::input,
                fmt::format("response '{}' is text with {} levels: a {} response must be numeric{}",
                            response.name, response.levels.size(), family.name(),
                            family.kind == Family::binomial ? " or have two levels" : ""));
  }
  response.numbers.assign(response.codes.begin(), response.codes.end());
  response.codes.clear();
  response.factor = false;
}

void check_response(const Frame& frame, const Variable& response, const AnyFamily& family) {
  for (std::size_t i = 0; i < frame.complete.size(); ++i) {
    if (frame.complete[i] == 0) continue;
    if (const auto fault = response_fault(family.kind, response.numbers[i])) {
      throw Error(ErrorCode::input,
                  fmt::format("response '{}' is {} in data row {}: for the {} family it {}", response.name,
                              response.numbers[i], frame.rows.begin + static_cast<std::int64_t>(i) + 1,
                              family.name(), *fault));
    }
  }
}

void check_weights(const Frame& frame, const Variable& weights) {
  if (weights.factor) {
    throw Error(ErrorCode::input, fmt::format("weights '{}' are text: they must be numbers", weights.name));
  }
  for (std::size_t i = 0; i < frame.complete.size(); ++i) {
    if (frame.complete[i] != 0 && !(weights.numbers[i] >= 0)) {
      throw Error(ErrorCode::input,
                  fmt::format("weights '{}' are {} in data row {}: they must not be negative", weights.name,
                              weights.numbers[i], frame.rows.begin + static_cast<std::int64_t>(i) + 1));
    }
  }
}

std::vector<double> difference(std::span<const double> to, std::span<const double> from) {
  std::vector<double> step(to.begin(), to.end());
  for (std::size_t i = 0; i < step.size(); ++i) step[i] -= from[i];
  return step;
}

/// The coefficient of the column of ones, if the model has one.
std::optional<std::size_t> intercept_of(const Design& design) {
  for (const CoefBlock& block : design.blocks) {
    if (block.label == "(Intercept)") return static_cast<std::size_t>(block.coef_begin);
  }
  return std::nullopt;
}

/// Names as a list that does not fill the screen.
std::string text_of(std::span<const std::string> names) {
  constexpr std::size_t most = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > most) text += fmt::format(" and {} more", names.size() - most);
  return text;
}

/// Throws once this rank was asked to stop, or has heard that another was. On the thread that calls MPI.
void stop_if_asked(StopRequest* stop) {
  if (stop == nullptr) return;
  stop->look();
  if (stop->made()) throw Error(ErrorCode::interrupted, "asked to stop");
}

/// How often a step whose sums are not finite is halved.
constexpr int fault_halvings = 30;

/// A sum of squares about the base that is so many times what is left is far from it.
constexpr double far_base = 1e3;
/// Residuals whose squares are less than this of the response's are its rounding, some hundred units in its
/// last place: a response without noise is fitted, and what is left of it tells no smoothing parameters.
constexpr double rounding_share = 1e-26;
/// So often a lower optimum of V, found at the end, sends the iteration on.
constexpr int most_returns = 3;

/// One fit in progress.
class Iteration {
 public:
  Iteration(Job& job, const Plan& plan, Frame frame, const Formula& formula, const FitOptions& options,
            Progress& progress, std::vector<PhaseTime>& phases, const FitControl& control)
      : job_(job),
        plan_(plan),
        frame_(std::move(frame)),
        formula_(formula),
        options_(options),
        progress_(progress),
        phases_(phases),
        control_(control),
        began_on_host_(job.on_host()) {}

  Model run() {
    prepare_rows();
    require_memory();
    prepare_design();
    iterate();
    finish();
    together(job_.comm(), [&] { to_user_coordinates(model_, rows_, !options_.family.scale_is_known()); });
    return std::move(model_);
  }

 private:
  void prepare_rows() {
    rows_.frame = &frame_;
    rows_.design = &model_.design;
    rows_.family = options_.family;
    rows_.response = frame_.index_of(formula_.response.text);
    for (const Expression& offset : formula_.offsets) rows_.offsets.push_back(frame_.index_of(offset.text));
    if (!options_.weights.empty()) {
      rows_.prior_weight = frame_.index_of(column_expression(options_.weights).text);
    }
    together(job_.comm(), [&] {
      if (frame_.complete_rows == 0) {
        throw Error(ErrorCode::input,
                    "no complete row: every row has a missing value in a variable of the model");
      }
      auto& response = frame_.variables[static_cast<std::size_t>(rows_.response)];
      make_numeric_response(response, options_.family);
      check_response(frame_, response, options_.family);
      for (const int offset : rows_.offsets) {
        if (frame_.variables[static_cast<std::size_t>(offset)].factor) {
          throw Error(ErrorCode::input, fmt::format("offset '{}' is text: it must be numeric",
                                                    frame_.variables[static_cast<std::size_t>(offset)].name));
        }
      }
      if (rows_.prior_weight >= 0) {
        check_weights(frame_, frame_.variables[static_cast<std::size_t>(rows_.prior_weight)]);
      }
    });
    require_variation(job_.comm(), rows_, formula_);
    choose_units();
    model_.formula = formula_.text;
    model_.family = options_.family;
    model_.weights = options_.weights;
    model_.rows = frame_.complete_rows;
    model_.rows_dropped = frame_.file_rows - frame_.complete_rows;
  }

  /// Powers of two that bring the response to about 1 where it has a unit that the fit may choose, and the
  /// weights where only their ratios matter.
  void choose_units() {
    if (options_.family.scale_is_known()) return;
    const auto number = [&](int variable, std::size_t row) {
      return frame_.variables[static_cast<std::size_t>(variable)].numbers[row];
    };
    std::array<double, 2> largest{0, 0};
    for (std::size_t row = 0; row < frame_.complete.size(); ++row) {
      if (frame_.complete[row] == 0) continue;
      double level = number(rows_.response, row);
      for (const int offset : rows_.offsets) level -= number(offset, row);
      largest[0] = std::max(largest[0], std::abs(level));
      if (rows_.prior_weight >= 0) largest[1] = std::max(largest[1], number(rows_.prior_weight, row));
    }
    job_.comm().allreduce(std::span<double>(largest), mpi::Reduction::max);
    if (options_.family.kind == Family::gaussian) rows_.response_factor = power_of_two_for(largest[0]);
    if (rows_.prior_weight >= 0) rows_.prior_factor = power_of_two_for(largest[1]);
  }

  /// Refuses a model that cannot be held, before the kernel ends a rank that tries.
  void require_memory() {
    ModelSize size;
    together(job_.comm(), [&] { size = size_of_model(formula_, frame_); });
    const bool on_devices = plan_.on_devices() && !job_.on_host();
    // Where the model is solved, and rank 0, which gets the solution.
    const Plan unit = job_.plan(1);
    const int solver = on_devices ? unit.tiles().front().rank : 0;
    const int rank = job_.comm().rank();
    const int sums = on_devices ? static_cast<int>(job_.devices().size()) : job_.threads();
    const FitMemory memory = memory_of_fit(size, std::max(sums, 1), rank == 0 || rank == solver);
    progress_.note(to_string(memory, size));
    const auto shortage = find_memory_shortage(job_.comm(), memory.most());
    if (!shortage) return;
    throw Error(ErrorCode::input,
                fmt::format("{} coefficients in {} columns {}, or a model of smaller k, fewer "
                            "levels or fewer terms",
                            size.coef, size.raw, to_string(*shortage)));
  }

  void prepare_design() {
    PhaseClock clock(job_.comm(), phases_, "design", "the search for knots and constraints");
    progress_.now("finding knots and constraints");
    standards_ = standards_of(job_.comm(), formula_, frame_, plan_.block(), job_.threads());
    const DesignDraft draft = draft_design(job_.comm(), formula_, frame_, options_.knots, standards_);
    model_.design = draft.design;
    pass_.emplace(job_, plan_, rows_);
    const RawMoments moments = checked(pass_->moments());
    together(job_.comm(),
             [&] { model_.design = finish_design(draft, moments.column_sums, frame_.complete_rows); });
    model_.design = checked(with_side_conditions(job_, plan_, rows_, std::move(model_.design), moments));
    weight_ = moments.sum_weight;
    mean_ = moments.sum_weighted_response / weight_;
    clock.add_bytes(pass_->bytes_per_pass());
  }

  /// The sums that the first iteration of this run begins with; `done` iterations were another run's.
  RawSums begin(int& done) {
    RawSums sums = first_sums();
    if (finite(sums)) leave_out_determined(sums.gram);
    if (centre_smooths()) sums = first_sums();
    solver_.emplace(job_, model_.design, options_.family.scale_is_known(), plan_.on_devices(), control_.stop);
    begin_at_the_mean();
    const FitState* const state = resumed();
    if (state == nullptr) return sums;
    check_state(*state, model_.design, control_.keeper->path());
    done = state->iteration;
    model_.coef = state->coef;
    solution_.log_sp = state->log_sp;
    course_ = state->course;
    return step(model_.coef);
  }
  /// Those of the first working model, whatever was done before: they decide what is left out.
  RawSums first_sums() {
    begin_at_the_mean();
    return starts_itself() ? start() : step(model_.coef);
  }
  /// Whether the first means are the family's own, made of the response.
  [[nodiscard]] bool starts_itself() const {
    return options_.family.kind != Family::gaussian && !options_.family.custom;
  }
  void leave_out_determined(const Matrix& raw_gram) {
    PhaseClock clock(job_.comm(), phases_, "design", "the search for dependent columns");
    model_.design = without_determined_columns(job_, rows_, std::move(model_.design), raw_gram);
    const std::string list = text_of(model_.design.left_out);
    if (!list.empty()) progress_.note("left out, as other terms determine it: " + list);
  }
  /// Whether the design is another one from here to the end of the iteration.
  bool centre_smooths() {
    centred_ = centre_by(model_.design, standards_);
    if (!centred_) return false;
    std::swap(model_.design, centred_->design);
    pass_.emplace(job_, plan_, rows_);
    return true;
  }
  [[nodiscard]] const FitState* resumed() const {
    if (control_.keeper == nullptr || !control_.keeper->resumed()) return nullptr;
    const FitState& state = *control_.keeper->resumed();
    return state.iteration > 0 ? &state : nullptr;
  }

  /// Performance iteration: a working linear model at each step, its smoothing parameters by REML.
  void iterate() {
    const bool gaussian = options_.family.kind == Family::gaussian;
    int done = 0;
    RawSums sums = begin(done);
    if (!finite(sums)) throw diverged(sums);
    double deviance = sums.deviance;
    for (int iteration = done + 1;; ++iteration) {
      const std::vector<double> previous = model_.coef;
      try {
        solve(sums, iteration, gaussian ? Search::global : course_.search);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::not_converged || solution_.coef.empty()) throw;
        end_before(iteration, error);
        break;
      }
      if (gaussian) {
        // The working model does not depend on the coefficients: one step is the answer. But the residual sum
        // of squares is taken from that at the base, and about the answer it has the digits that a far base
        // took.
        if (sums.deviance > far_base * solution_.scale * residual_df()) {
          const double level = sums.deviance + weight_ * mean_ * mean_;
          sums = step(model_.coef);
          if (!finite(sums)) throw diverged(sums);
          if (sums.deviance > rounding_share * level) solve(sums, iteration, Search::local);
        }
        model_.converged = solution_.converged;
        model_.iterations = iteration;
        break;
      }
      sums = halved_step(previous, iteration > 1 ? std::optional(deviance) : std::nullopt);
      if (iteration == 1) begin_again_if_worse_than_the_mean(sums);
      if (!finite(sums)) {
        if (iteration == 1) throw diverged(sums);
        model_.coef = previous;
        end_before(iteration, diverged(sums));
        break;
      }
      const double change = std::abs(sums.deviance - deviance);
      deviance = sums.deviance;
      model_.iterations = iteration;
      tell(iteration, deviance * deviance_unit(), change * deviance_unit());
      const bool still = change < options_.tolerance * (0.1 + std::abs(deviance)) &&
                         solution_.step <= options_.step_tolerance;
      model_.converged = settle(still && solution_.converged);
      last_step_ = difference(solution_.coef, previous);  // the whole of it
      if (is_separated(change / (0.1 + std::abs(deviance)),
                       model_.converged || iteration >= options_.max_iterations))
        break;
      if (model_.converged || iteration >= options_.max_iterations) break;
      // What the last iteration leaves is not kept: it is the model, and another run begins before it.
      if (control_.keeper != nullptr)
        control_.keeper->keep({.iteration = iteration,
                               .deviance = deviance,
                               .coef = model_.coef,
                               .log_sp = solution_.log_sp,
                               .course = course_,
                               .place = {},
                               .fallback = {}});
    }
  }

  /// Whether the last step is one of those that go on for ever: the model then has no finite estimate, even
  /// if its deviance stands still. `change` is the deviance's, relative; `ends`: it was the last step anyway.
  bool is_separated(double change, bool ends) {
    constexpr double worth_a_look = 1e-7;
    constexpr double still = 1e-7;         // of the other rows, while the iteration goes on
    constexpr double almost_still = 1e-3;  // and where it ends
    if (!may_separate(options_.family.kind) || !(change < worth_a_look) || last_step_.empty()) return false;
    const auto reason =
        find_separation(job_, rows_, model_.design.raw_coefficients(model_.coef),
                        model_.design.raw_coefficients(last_step_), ends ? almost_still : still);
    if (!reason) return false;
    model_.no_estimate = *reason;
    model_.converged = false;
    return true;
  }

  /// Whether the fit is at its end, if the last iteration stood `still`: then the next one looks for lower
  /// optima of V too, and has to stand still as well. Where each of two optima leads to a working model for
  /// which the other is lower, the last one stays after so many returns.
  bool settle(bool still) {
    const bool global = course_.search == Search::global;
    if (global && !still) ++course_.returns;
    const bool last = course_.returns >= most_returns;
    if (still && !global && last)
      progress_.note(
          fmt::format("{} times a lower optimum of REML led to a working model that led back: this "
                      "solution is one of two or more, each a local optimum",
                      most_returns));
    course_.search = still && !global && !last ? Search::global : Search::local;
    return still && (global || last);
  }

  void tell(int iteration, double deviance, double change) {
    progress_.now(fmt::format("iteration {}: deviance {:.8g}, change {:.2g}, step {:.2g}, edf {:.2f}",
                              iteration, deviance, change, solution_.step, solution_.edf_total));
  }

  /// An iteration after the first came to no finite state: the model is the one before it.
  void end_before(int iteration, const Error& why) {
    model_.converged = false;
    model_.iterations = iteration - 1;
    progress_.note(fmt::format("iteration {}: {}", iteration, why.what()));
    static_cast<void>(is_separated(0, true));
  }

  /// The sums where the step ends, or nearer to where it began: halved while they are not finite, or
  /// while the penalised deviance has risen above that at `previous`, whose deviance is given where there is
  /// one. Every rank has the same sums and penalty, and takes the same passes.
  RawSums halved_step(std::span<const double> previous, std::optional<double> deviance) {
    RawSums sums = step(model_.coef);
    double fraction = 1;
    for (int faults = 0, rises = 0;;) {
      if (!finite(sums)) {
        if (++faults > fault_halvings) return sums;
      } else {
        const bool risen = deviance && is_rise(*deviance + solution_.penalty.begin,
                                               sums.deviance + solution_.penalty.at(fraction));
        if (!risen || ++rises > rise_halvings) return sums;
      }
      fraction /= 2;
      for (std::size_t i = 0; i < previous.size(); ++i) model_.coef[i] = (model_.coef[i] + previous[i]) / 2;
      sums = step(model_.coef);
    }
  }

  /// Moves the coefficients to where the step ends that the solution of the working model is.
  void solve(const RawSums& sums, int iteration, Search search) {
    PhaseClock clock(job_.comm(), phases_, "reml", "the search for smoothing parameters");
    const bool mixed = iteration >= (may_separate(options_.family.kind) ? first_mixed_where_separable
                                                                        : first_mixed_iteration);
    auto solution = solver_->solve(sums, model_.coef, solution_.log_sp, frame_.complete_rows,
                                   mixed ? &course_.past : nullptr, search);
    stop_if_fallen_back();
    const std::string& why = solver_->no_device_algebra();
    if (!why.empty() && solution_.coef.empty()) progress_.note("large products are the hosts': " + why);
    solution_ = std::move(*solution);
    if (mixed) remember_step();
    model_.coef = solution_.end;
  }

  void remember_step() {
    course_.past.push_back({model_.coef, difference(solution_.coef, model_.coef)});
    if (course_.past.size() > most_past_steps) course_.past.erase(course_.past.begin());
  }

  void finish() {
    model_.scale = solution_.scale * deviance_unit();
    model_.edf_total = solution_.edf_total;
    model_.log_sp = solution_.log_sp;
    measure_fit();
    model_.aic = akaike();
    model_.outline = outline();
    model_.verdict = to_string(job_.last_verdict());
    if (control_.keeper != nullptr && !control_.keeper->fallback().empty())
      model_.verdict = control_.keeper->fallback();
    solver_->bring_to_root(model_.coef);
    if (centred_) {
      std::swap(model_.design, centred_->design);
      model_.coef = multiply(centred_->to_formula, model_.coef);
    }
    if (job_.comm().rank() != 0) return;
    if (!centred_) {
      conclude(solver_->fit(), solver_->gram());
      return;
    }
    RemlFit fit = solver_->fit();
    Matrix gram = solver_->gram();
    centred_->turn(fit, gram);
    conclude(fit, gram);
  }
  /// What rank 0 alone has of the model.
  void conclude(const RemlFit& fit, const Matrix& gram) {
    model_.reml = fit.score;
    model_.edf = fit.edf;
    model_.covariance = fit.inverse;
    for (double& value : model_.covariance.values()) value *= fit.scale;
    TermTests tests =
        test_terms(model_.design, fit, gram, !options_.family.scale_is_known(), model_.residual_df());
    model_.coefficient_tests = std::move(tests.coefficients);
    model_.smooth_tests = std::move(tests.smooths);
  }
  [[nodiscard]] double residual_df() const {
    return static_cast<double>(frame_.complete_rows - model_.design.null_space());
  }
  /// What a deviance or a scale of 1 in the units of the fit is in the user's.
  [[nodiscard]] double deviance_unit() const {
    return 1 / rows_.response_factor / rows_.response_factor / rows_.prior_factor;
  }

  /// What the fit leaves of the response, and what a constant mean without offset leaves, as mgcv reports
  /// them.
  void measure_fit() {
    PhaseClock clock(job_.comm(), phases_, "rows", "the sums over the rows");
    const RawDeviance left = checked(pass_->deviance(model_.design.raw_coefficients(model_.coef)));
    Design constant;
    constant.terms.resize(1);
    constant.raw_size = 1;
    Rows rows = rows_;
    rows.design = &constant;
    rows.offsets.clear();
    RowPass pass(job_, plan_, rows);
    const RawMoments moments = checked(pass.moments());
    const double mean = moments.sum_weighted_response / moments.sum_weight;
    const RawDeviance whole = checked(pass.deviance(std::array{predictor(mean)}));
    clock.add_bytes(pass_->bytes_per_pass() + 2 * pass.bytes_per_pass());

    model_.deviance = left.deviance * deviance_unit();
    model_.null_deviance = whole.deviance * deviance_unit();
    const auto n = static_cast<double>(model_.rows);
    const auto sum_of_squares = [n](const RawDeviance& sums) {
      return sums.residual_square - sums.residual_sum * sums.residual_sum / n;
    };
    model_.r_squared_adjusted =
        1 - sum_of_squares(left) / sum_of_squares(whole) * (n - 1) / model_.residual_df();
  }

  /// Akaike's criterion as bam has it: R's family()$aic + 2 edf. Minus twice the log likelihood is that of
  /// the saturated model plus deviance / scale, so that one look at the response is enough: but for rows
  /// whose likelihood is of rounded counts, which need their mean.
  double akaike() {
    const Family family = options_.family.kind;
    const double scale = aic_scale(family, model_.deviance, static_cast<double>(model_.rows), model_.scale);
    const double estimated = options_.family.scale_is_known() ? 0 : 1;
    const auto& response = frame_.variables[static_cast<std::size_t>(rows_.response)].numbers;
    const std::vector<double> raw_coef = model_.design.raw_coefficients(model_.coef);
    const Range mine = frame_.rows;
    std::vector<ReproducibleSum> sums(static_cast<std::size_t>(job_.threads()), ReproducibleSum(1));
    for_each_block(mine, plan_.block(), job_.threads(), [&](int thread, Range block) {
      double partial = 0;
      for (std::int64_t unit = block.begin; unit < block.end; ++unit) {
        const auto row = static_cast<std::size_t>(unit - mine.begin);
        if (frame_.complete[row] == 0) continue;
        const double weight =
            rows_.prior_weight < 0
                ? 1
                : frame_.variables[static_cast<std::size_t>(rows_.prior_weight)].numbers[row];
        const double y = response[row];
        if (likelihood_rounds(family, y, weight)) {
          const double mu = inverse_link(family, linear_predictor(rows_, row, raw_coef));
          partial += minus_two_log_likelihood(family, y, mu, weight, scale) -
                     row_deviance(family, y, mu, weight) / scale;
        } else {
          partial += minus_two_log_likelihood(family, y, y, weight, scale);
        }
      }
      sums[static_cast<std::size_t>(thread)].add(std::span<const double>(&partial, 1));
    });
    ReproducibleSum& saturated = sums.front();
    for (std::size_t i = 1; i < sums.size(); ++i) saturated.merge(sums[i]);
    saturated.allreduce(job_.comm());
    return saturated.values()[0] + model_.deviance / scale + 2 * (solution_.edf_total + estimated);
  }

  DataOutline outline() {
    PhaseClock clock(job_.comm(), phases_, "outline", "the outline of the data");
    return outline_of(job_.comm(), job_.threads(), rows_, model_.design.raw_coefficients(model_.coef),
                      options_.residuals);
  }

  /// Gaussian: residuals about the mean keep a large common level out of the sums of squares. A family of
  /// the user's own has no other place to begin at.
  void begin_at_the_mean() {
    model_.coef.assign(static_cast<std::size_t>(model_.design.coef_size), 0.0);
    if (starts_itself()) return;
    if (const auto mean = coefficients_of_the_mean()) {
      model_.coef = *mean;
    } else if (options_.family.custom) {
      throw Error(ErrorCode::usage, "a family of your own needs a formula with an intercept");
    }
  }
  /// Nothing in a model without an intercept.
  [[nodiscard]] std::optional<std::vector<double>> coefficients_of_the_mean() const {
    const auto intercept = intercept_of(model_.design);
    if (!intercept) return std::nullopt;
    std::vector<double> coef(static_cast<std::size_t>(model_.design.coef_size));
    coef[*intercept] = predictor(mean_);
    return coef;
  }
  /// A gamma solution that begins at the rows' own means can end further off than their common mean: of
  /// responses near zero the logarithms say little of the mean. Then the iteration begins at that mean.
  void begin_again_if_worse_than_the_mean(RawSums& sums) {
    const auto mean = options_.family.kind == Family::gamma ? coefficients_of_the_mean() : std::nullopt;
    if (!mean) return;
    const RawDeviance at_mean = [&] {
      PhaseClock clock(job_.comm(), phases_, "rows", "the sums over the rows");
      clock.add_bytes(pass_->bytes_per_pass());
      return checked(pass_->deviance(model_.design.raw_coefficients(*mean)));
    }();
    if (at_mean.bad_rows > 0 || !(at_mean.deviance < sums.deviance)) return;
    model_.coef = *mean;
    sums = step(model_.coef);
  }
  [[nodiscard]] double predictor(double mean) const {
    if (const auto found = options_.family.predictor(mean)) return *found;
    throw Error(ErrorCode::input,
                fmt::format("the mean of the response, {:g}, is no mean of the family {}: its inverse link "
                            "gives it for no predictor",
                            mean, options_.family.name()));
  }

  RawSums start() {
    PhaseClock clock(job_.comm(), phases_, "rows", "the sums over the rows");
    clock.add_bytes(pass_->bytes_per_pass());
    return checked(pass_->start());
  }
  RawSums step(std::span<const double> coef) {
    PhaseClock clock(job_.comm(), phases_, "rows", "the sums over the rows");
    clock.add_bytes(pass_->bytes_per_pass());
    return checked(pass_->step(model_.design.raw_coefficients(coef)));
  }
  template <class Sums>
  Sums checked(Sums sums) const {
    stop_if_fallen_back();
    return sums;
  }
  void stop_if_fallen_back() const {
    if (!began_on_host_ && job_.on_host()) throw FellBack{};
  }

  static bool finite(const RawSums& sums) { return sums.bad_rows == 0 && std::isfinite(sums.deviance); }
  static Error diverged(const RawSums& sums) {
    return {ErrorCode::not_converged,
            fmt::format("the iteration diverged: {:.0f} rows have no finite working weight or deviance; "
                        "look for extreme values in the response, offset or weights",
                        sums.bad_rows)};
  }

  Job& job_;
  const Plan& plan_;
  Frame frame_;
  const Formula& formula_;
  const FitOptions& options_;
  Progress& progress_;
  std::vector<PhaseTime>& phases_;
  const FitControl& control_;
  bool began_on_host_;
  Rows rows_;
  std::optional<RowPass> pass_;
  Standards standards_;
  std::optional<CentredBy> centred_;  ///< its `design` is the formula's while the iteration has the other
  Model model_;
  std::optional<WorkingSolver> solver_;
  WorkingSolution solution_;       ///< of the last step
  std::vector<double> last_step_;  ///< of the coefficients, whole; empty before the first
  Course course_;                  ///< of the steps so far
  double weight_ = 0;              ///< of all rows
  double mean_ = 0;
};

}  // namespace

FrameRequest request_for(const Formula& formula, const FitOptions& options) {
  FrameRequest request;
  request.options = options.table;
  request.variables = formula.variables();
  for (const SmoothSpec& smooth : formula.smooths) {
    for (const MarginSpec& margin : smooth.margins) {
      if (margin.basis != "re") request.numeric.push_back(margin.variable.text);
    }
  }
  for (const Expression& offset : formula.offsets) request.numeric.push_back(offset.text);
  if (options.family.kind != Family::binomial) request.numeric.push_back(formula.response.text);
  if (!options.weights.empty()) {
    request.variables.push_back(column_expression(options.weights));
    request.numeric.push_back(request.variables.back().text);
  }
  return request;
}

Model fit_frame(Job& job, const Plan& plan, Frame frame, const Formula& formula, const FitOptions& options,
                Progress& progress, std::vector<PhaseTime>& phases, const FitControl& control) {
  return Iteration(job, plan, std::move(frame), formula, options, progress, phases, control).run();
}

namespace {

/// A table that came into the place of the one whose states are kept is not to be fitted with them.
/// *Collective.*
void require_table(const mpi::Communicator& comm, const TableReader& table, const std::string& path,
                   const apps::FileState& expected) {
  together(comm, [&] {
    if (comm.rank() == 0 && table.opened() != expected)
      throw Error(ErrorCode::input,
                  fmt::format("{}: was replaced or written to while the job started: start it again", path));
  });
}

}  // namespace

Model fit_file(Job& job, const std::string& path, const Formula& formula, const FitOptions& options,
               Progress& progress, std::vector<PhaseTime>& phases, Plan& plan, const FitControl& control) {
  for (;;) {
    Frame frame;
    {
      PhaseClock clock(job.comm(), phases, "read", "the reading of the table");
      progress.now("counting the rows of " + path);
      const auto table = open_table(job.comm(), path, [&] { stop_if_asked(control.stop); });
      if (control.table != nullptr) require_table(job.comm(), *table, path, *control.table);
      const bool stays_on_host = control.keeper != nullptr && !control.keeper->fallback().empty();
      plan = stays_on_host || job.on_host() ? job.plan_for_hosts(table->rows(), options.block_rows)
                                            : job.plan(table->rows(), options.block_rows);
      progress.now(fmt::format("reading {} rows of {}", table->rows(), path));
      frame = table->read(job.comm(), request_for(formula, options), job.local_range(plan));
      for (const ColumnReading& column : frame.columns) progress.note(to_string(column));
      clock.add_bytes(job.comm().allreduce(table->bytes_read(), mpi::Reduction::sum));
    }
    try {
      return fit_frame(job, plan, std::move(frame), formula, options, progress, phases, control);
    } catch (const FellBack&) {
      progress.note(to_string(job.last_verdict()) + "; starting over on the CPU");
      if (control.keeper != nullptr) control.keeper->keep_fallback();
    }
  }
}

}  // namespace tessera::fit
