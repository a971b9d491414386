// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/fit_frame.hpp"

#include "base/errors.hpp"
#include "base/math/elementary.hpp"
#include "gam/design/build_design.hpp"
#include "gam/design/coefficient_sums.hpp"
#include "gam/design/far_fields.hpp"
#include "gam/design/side_conditions.hpp"
#include "gam/design/standardise.hpp"
#include "gam/fit/coordinates/block_sketch.hpp"
#include "gam/fit/coordinates/by_centring.hpp"
#include "gam/fit/coordinates/change.hpp"
#include "gam/fit/coordinates/orthogonal_smooths.hpp"
#include "gam/fit/coordinates/unidentifiable_coefficients.hpp"
#include "gam/fit/coordinates/user_coordinates.hpp"
#include "gam/fit/data_outline.hpp"
#include "gam/fit/pirls/fit_checkpoint.hpp"
#include "gam/fit/pirls/goodness_of_fit.hpp"
#include "gam/fit/pirls/pirls.hpp"
#include "gam/fit/pirls/prepare_rows.hpp"
#include "gam/fit/pirls/rho_search.hpp"
#include "gam/fit/pirls/row_sampling.hpp"
#include "gam/fit/pirls/serial_residuals.hpp"
#include "gam/fit/quantile/quantile_calibration.hpp"
#include "gam/fit/run/device_choice.hpp"
#include "gam/fit/run/fit_memory.hpp"
#include "gam/inference/term_tests.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/robust_cholesky.hpp"
#include "gam/rows/real_devices.hpp"
#include "gam/rows/response_fingerprint.hpp"

#include <tessera/error.hpp>
#include <tessera/job/together.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

std::string text_of(std::span<const std::string> names) {
  constexpr std::size_t most = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > most) text += fmt::format(" and {} more", names.size() - most);
  return text;
}

/// The Cholesky factor R with R'R = X'WX; empty if X'WX is not finite, is too large, or has a part.
Matrix triangle_of_gram(const PartedMatrix& gram) {
  if (gram.is_parted() || gram.size() > largest_triangle ||
      !std::ranges::all_of(gram.core.values(), [](double value) { return std::isfinite(value); }))
    return {};
  return transpose(robust_cholesky(gram.core));
}

class FitRun {
 public:
  FitRun(const FitContext& fit, Frame frame) : fit_(fit), frame_(std::move(frame)) {}

  FittedModel run() {
    look_at_response();
    rows_.design = &model_.design;
    rows_.on_devices = fit_.on_devices;
    require_hosts_for_series();
    needed_bytes_ = require_memory(fit_, rows_);
    const RawMoments moments = prepare_design();
    together(fit_.job.comm(), [&] { give_smoothing_parameters(); });
    std::optional<RawSums> first = settle_design(moments);
    note_left_out();
    if (fit_.options.estimate_rho || rows_.family.needs_calibration()) first.reset();
    if (fit_.options.estimate_rho) estimate_rho(moments);
    if (rows_.family.needs_calibration()) calibrate();
    PirlsLoop loop(fit_, *pass_, rows_, moments);
    loop.run(std::move(first));
    describe();
    take(loop.end(), moments);
    if (!loop.end().parameters_determined) {
      const std::size_t shown = rows_.family.estimates(0) ? 0 : 1;
      fit_.observer.note(fmt::format("parameter {} has no finite estimate, so the fit uses {:.3g}: {}",
                                     rows_.family.parameter_names()[shown], rows_.family.parameters()[shown],
                                     rows_.family.at_limit()));
    }
    loop.solver().bring_to_root(model_.coef);
    note_untested();
    if (fit_.job.comm().rank() == 0) conclude(loop.solver());
    if (changed_) model_.coef = changed_->change.coefficients_of_formula(model_.coef);
    model_.column_means = to_coefficients(moments.column_sums, model_.design);
    for (double& mean : model_.column_means) mean /= static_cast<double>(model_.rows);
    together(fit_.job.comm(),
             [&] { to_user_coordinates(model_, rows_, !fit_.options.family.definition().scale_is_known()); });
    return std::move(model_);
  }

 private:
  void look_at_response() {
    PhaseClock clock(fit_.job.comm(), fit_.phases, "design", "the checks of the response");
    rows_ = prepare_rows(workers(), frame_, fit_.formula, fit_.options);
    if (begins_on_real_devices(fit_.job, fit_.plan)) fingerprint_.emplace(workers(), rows_);
    const Variable& response = frame_.variables[static_cast<std::size_t>(rows_.response)];
    const std::string why = only_on_hosts(rows_.family);
    if (!why.empty()) require_hosts(why);
    if (rows_.family.has_classes() && rows_.family.several() == nullptr && !response.levels.empty())
      fit_.observer.note(fmt::format("response {}: the classes are '{}', in this order", response.name,
                                     fmt::join(response.levels, "' < '")));
    if (rows_.family.two_levels() && !response.levels.empty())
      fit_.observer.note(fmt::format("response {}: '{}' is failure, '{}' is success", response.name,
                                     response.levels[0], response.levels[1]));
    if (fit_.formula.trials)
      fit_.observer.note(
          fmt::format("response {}: proportions of {} trials", response.name, fit_.formula.trials->text));
  }
  [[nodiscard]] Workers workers() const { return {fit_.job.comm(), fit_.job.host_team()}; }

  void require_hosts_for_series() const {
    if (!has_correlated_residuals(fit_.options)) return;
    if (!rows_.family.linear())
      fit_.observer.note(
          "AR1 residuals are approximate for this family: rho is the correlation of the working residuals");
    if (rows_.series.starts_left_out > 0)
      fit_.observer.note(
          fmt::format("AR1 residuals: {} of {} series begin in incomplete rows and are joined to the "
                      "preceding series, as in bam",
                      rows_.series.starts_left_out, rows_.series.starts_left_out + rows_.series.starts));
    require_hosts("GPUs do not support AR1 residuals");
  }
  /// Moves a fit from devices to the CPU, if allowed.
  void require_hosts(const std::string& why) const {
    if (!fit_.plan.on_devices()) return;
    if (fit_.may_move_to_hosts) throw NeedsHosts{why};
    throw Error(ErrorCode::usage, why + ": set device to auto or cpu");
  }

  /// Sets the design with the constraints and side conditions of each predictor. With several predictors also
  /// drops dependent columns, by the unweighted X'X. Returns the moments of the raw columns.
  RawMoments prepare_design() {
    note_ignored();
    const int predictors = fit_.formula.predictors();
    const Rows whole = rows_;
    if (predictors > 1) rows_ = unweighted(whole);
    std::vector<Design> designs;
    RawMoments moments;
    for (int p = 0; p < predictors; ++p) {
      moments = constrain(p, whole.prior_weight);
      apply_side_conditions(moments);
      if (predictors > 1) {
        if (!unweighted_) unweighted_ = first_sums(fit_, *pass_, rows_, moments);
        static_cast<void>(leave_out_determined(unweighted_->gram));
        unweighted_.reset();
      }
      designs.push_back(std::move(model_.design));
    }
    if (predictors > 1 && designs.back().terms.empty())
      throw base::usage_error(
          "the formula of linear predictor {} has no term and no intercept: write ~ 1 for a constant "
          "predictor",
          designs.size());
    model_.design = joined(std::move(designs));
    if (predictors == 1) return moments;
    if (fit_.formula.shared() > 0) share_terms();
    rows_ = whole;
    pass_.emplace(fit_.job, fit_.plan, rows_);
    return fit_.sums_of(*pass_, [&] { return pass_->moments(); });
  }
  /// Lets linear predictors read their shared terms, and drops shared columns that the predictors' own terms
  /// determine, by X'X of the stacked rows of all predictors.
  void share_terms() {
    PartedMatrix gram = unweighted_gram(fit_.job, fit_.plan, rows_);
    fit_.require_no_fallback();
    Design& design = model_.design;
    design.readers = fit_.formula.all_readers();
    std::vector<int> formula_of_raw;
    for (const RawTerm& term : design.terms)
      formula_of_raw.resize(formula_of_raw.size() + static_cast<std::size_t>(term.raw_size), term.predictor);
    for (int j = 0; j < gram.core.cols(); ++j) {
      for (int i = 0; i < gram.core.rows(); ++i)
        gram.core(i, j) *= design.common_readers(formula_of_raw[static_cast<std::size_t>(i)],
                                                 formula_of_raw[static_cast<std::size_t>(j)]);
    }
    static_cast<void>(leave_out_determined(gram));
  }
  /// The supplied knots of a predictor's splines. The first also gets those of variables in no formula.
  [[nodiscard]] SuppliedKnots knots_of(const FormulaTerms& formula, int predictor) const {
    const auto has = [](const FormulaTerms& one, const std::string& variable) {
      const std::vector<std::string> numeric = one.numeric_variables();
      return std::ranges::find(numeric, variable) != numeric.end();
    };
    FormulaTerms alone = formula;
    alone.further.clear();
    SuppliedKnots own;
    for (const auto& [variable, knots] : fit_.options.knots) {
      const bool is_first = predictor == 0 && !has(fit_.formula, variable);
      if (is_first || has(alone, variable)) own.emplace(variable, knots);
    }
    return own;
  }
  void note_left_out() {
    const std::string list = text_of(model_.design.left_out);
    if (!list.empty())
      fit_.observer.note("dropped columns that are linearly dependent on other terms: " + list);
  }

  RawMoments constrain(int predictor, int prior_weight) {
    const DesignDraft draft = draft_of_design(predictor, prior_weight);
    model_.design = draft.design;
    require_constant_levels();
    find_level_pairs();
    pass_.emplace(fit_.job, fit_.plan, rows_);
    RawMoments moments = moments_of(draft);
    PhaseClock clock(fit_.job.comm(), fit_.phases, "design", "the constraints");
    together(fit_.job.comm(),
             [&] { model_.design = finish_design(draft, moments.column_sums, frame_.complete_rows); });
    return moments;
  }
  DesignDraft draft_of_design(int predictor, int prior_weight) {
    const FormulaTerms& formula = fit_.formula.of_predictor(predictor);
    const int largest_whole_effect =
        fit_.formula.predictors() > 1 ? std::numeric_limits<int>::max() : fit_.options.largest_tested_effect;
    PhaseClock clock(fit_.job.comm(), fit_.phases, "design", "the search for knots");
    fit_.observer.now("finding knots and constraints" +
                      (fit_.formula.predictors() > 1 ? fmt::format(" of formula {}", predictor + 1) : ""));
    standards_ = standards_of(fit_.job.comm(), formula, frame_, fit_.plan.block(), fit_.job.host_team());
    DesignDraft draft = draft_design(workers(), formula, frame_, knots_of(formula, predictor), standards_,
                                     largest_whole_effect, prior_weight);
    if (!draft.note.empty()) fit_.observer.note(draft.note);
    add_far_fields(workers(), draft.design, frame_.complete_rows, needed_bytes_);
    return draft;
  }
  /// Without weights, R'1 is the intercept's row of R'R. The sums of the first working model are then kept,
  /// because raw columns do not change later.
  RawMoments moments_of(const DesignDraft& draft) {
    const auto intercept =
        std::ranges::find_if(draft.blocks, [](const DraftBlock& one) { return one.block.is_intercept(); });
    if (intercept != draft.blocks.end() && is_unweighted(rows_)) {
      RawMoments moments = response_moments(fit_, rows_);
      const int raw = intercept->block.raw_begin;
      std::vector<double> at_mean(static_cast<std::size_t>(draft.design.raw_size));
      at_mean[static_cast<std::size_t>(raw)] = moments.mean_response();
      unweighted_ = fit_.sums_of(*pass_, [&] { return pass_->step(at_mean); });
      if (is_finite(*unweighted_)) {
        moments.column_sums.clear();
        for (int i = 0; i < draft.design.raw_size; ++i)
          moments.column_sums.push_back(unweighted_->gram(raw, i));
        return moments;
      }
      unweighted_.reset();
    }
    return fit_.sums_of(*pass_, [&] { return pass_->moments(); });
  }

  void find_level_pairs() {
    rows_.pairs = level_pairs(workers(), frame_, model_.design, fit_.options.largest_tested_effect, true);
    if (!rows_.pairs) return;
    require_memory(fit_, model_.design, *rows_.pairs);
    require_hosts("GPUs do not support several large random effects");
  }

  /// Throws for a random effect larger than `largest_tested_effect` whose level changes within a series: its
  /// block of X'WX would not be diagonal.
  void require_constant_levels() const {
    if (!has_correlated_residuals(fit_.options)) return;
    for (const RawTerm& term : model_.design.terms) {
      if (!model_.design.parted_columns.has(term.raw_begin)) continue;
      for (const Component& component : term.components) {
        const auto variable = static_cast<std::size_t>(component.variable);
        if (component.kind != Component::Kind::factor || rows_.series.constant[variable] != 0) continue;
        throw base::input_error(
            "the level of '{}' changes within a series of AR1 residuals, and its random effect has {} "
            "coefficients, more than largest-tested-effect: set largest-tested-effect to {}, or "
            "make ar-start TRUE where the level changes",
            frame_.variables[variable].name, term.raw_size, term.raw_size);
      }
    }
  }

  void estimate_rho(const RawMoments& moments) {
    rows_.series.rho = rho_of_least_score(fit_, rows_, moments);
    pass_.emplace(fit_.job, fit_.plan, rows_);
  }

  /// A resumed fit already has the learning rate and the width of the quantile's loss.
  void calibrate() {
    if (fit_.checkpoint == nullptr || !fit_.checkpoint->resumed() ||
        fit_.checkpoint->resumed()->iteration == 0)
      rows_.family = calibrated_quantile(fit_, rows_);
    pass_.emplace(fit_.job, fit_.plan, rows_);
  }

  /// Takes smoothing parameters from the options if smooths give none. Converts all to the fit's units.
  void give_smoothing_parameters() {
    const std::vector<double>& given = fit_.options.sp;
    const std::vector<double>& least = fit_.options.min_sp;
    std::vector<std::string> labels;
    std::vector<std::string> of_penalties;
    std::map<std::string, std::size_t> of_id;
    for (CoefBlock& block : model_.design.blocks) {
      for (std::size_t j = 0; block.penalty && j < block.penalty->count(); ++j) {
        std::size_t index = labels.size();
        if (!block.ids.empty()) index = of_id.emplace(block.ids[j], index).first->second;
        if (index == labels.size()) labels.push_back(block.penalty->labels[j]);
        if (block.log_sp.empty()) block.log_sp.assign(block.penalty->count(), NAN);
        double& own = block.log_sp[j];
        if (std::isnan(own) && index < given.size() && given[index] >= 0) own = base::log(given[index]);
        own += base::log(rows_.prior_factor);
        if (of_penalties.size() < least.size())
          block.least_sp.push_back(least[of_penalties.size()] * rows_.prior_factor);
        of_penalties.push_back(block.penalty->labels[j]);
      }
    }
    const auto odd = std::ranges::find_if(given, [](double one) { return !std::isfinite(one); });
    if (odd != given.end())
      throw base::usage_error(
          "sp: value {} is {}: give a finite number, or -1 to estimate this smoothing parameter",
          odd - given.begin() + 1, *odd);
    if (!(fit_.options.gamma > 0 && std::isfinite(fit_.options.gamma)))
      throw base::usage_error("gamma is {}: give a finite number above 0", fit_.options.gamma);
    const auto low =
        std::ranges::find_if(least, [](double one) { return !(std::isfinite(one) && one >= 0); });
    if (low != least.end())
      throw base::usage_error("min.sp: value {} is {}: give finite numbers of at least 0",
                              low - least.begin() + 1, *low);
    require_as_many("sp", given, labels);
    require_as_many("min.sp", least, of_penalties);
  }

  static void require_as_many(const char* name, std::span<const double> given,
                              const std::vector<std::string>& labels) {
    if (given.empty() || given.size() == labels.size()) return;
    throw base::usage_error(
        "{} has {} value{}, but {}", name, given.size(), given.size() == 1 ? "" : "s",
        labels.empty()
            ? "the model has no smoothing parameter: remove this option"
            : fmt::format("the model needs one value per smoothing parameter: give the values of {}",
                          text_of(labels)));
  }

  void apply_side_conditions(const RawMoments& moments) {
    if (nested_smooths(model_.design).empty()) return;
    if (!unweighted_ && is_unweighted(rows_)) unweighted_ = first_sums(fit_, *pass_, rows_, moments);
    PhaseClock clock(fit_.job.comm(), fit_.phases, "design", "the side conditions of nested smooths");
    PartedMatrix own;
    if (!unweighted_) {
      own = unweighted_gram(fit_.job, fit_.plan, rows_);
      fit_.require_no_fallback();
    }
    model_.design = with_side_conditions(fit_.job, rows_, std::move(model_.design), moments,
                                         unweighted_ ? unweighted_->gram : own);
  }

  /// Drops dependent columns, and chooses the coordinates of PIRLS. Decides by the first working model, so
  /// that a resumed fit decides alike. Returns the sums of this model if they were needed.
  std::optional<RawSums> settle_design(const RawMoments& moments) {
    if (fit_.formula.predictors() > 1) return {};
    const CrowdedSmooths crowded = look_for_crowded();
    iterate_in(with_orthogonal_columns(crowded));
    std::optional<RawSums> sums;
    if (!is_identified_by_sample(moments))
      sums = unweighted_ && !changed_ ? std::move(unweighted_) : first_sums(fit_, *pass_, rows_, moments);
    unweighted_.reset();
    const bool dropped = sums && is_finite(*sums) && leave_out_determined(sums->gram);
    auto centred = centre_by_variables(model_.design, standards_);
    if (!centred && !(changed_ && dropped)) return sums;
    iterate_in(centred ? std::move(centred) : with_orthogonal_columns(crowded));
    return {};
  }
  /// Whether the columns are linearly independent in a sample of the rows, and therefore in all rows.
  bool is_identified_by_sample(const RawMoments& moments) {
    const int stride = stride_of_sample(fit_, rows_);
    if (stride == 1) return false;
    const RowSampling sampling(*pass_, stride);
    const RawSums sums = first_sums(fit_, *pass_, rows_, moments);
    return is_finite(sums) && find_determined_columns(fit_.job, *rows_.design, sums.gram).empty();
  }
  /// Returns whether any column was dropped.
  bool leave_out_determined(const PartedMatrix& raw_gram) {
    PhaseClock clock(fit_.job.comm(), fit_.phases, "design", "the search for dependent columns");
    model_.design = without_determined_columns(fit_.job, rows_, std::move(model_.design), raw_gram,
                                               changed_ ? &*changed_ : nullptr);
    return !model_.design.left_out.empty();
  }
  CrowdedSmooths look_for_crowded() {
    PhaseClock clock(fit_.job.comm(), fit_.phases, "design", "the search for crowded variables");
    CrowdedSmooths crowded(fit_.job, fit_.plan, rows_);
    fit_.require_no_fallback();
    return crowded;
  }
  /// The design in which smooths of variables with outliers have orthogonal columns. Only the CPU evaluates
  /// these dense columns: a fit on devices starts over on the CPU, if allowed.
  std::optional<ChangedDesign> with_orthogonal_columns(const CrowdedSmooths& crowded) {
    auto orthogonal = crowded.with_orthogonal_columns(model_.design);
    if (!orthogonal || !fit_.plan.on_devices()) return orthogonal;
    if (fit_.may_move_to_hosts)
      throw NeedsHosts{"GPUs do not support smooths of a variable with extreme outliers"};
    return std::nullopt;
  }
  /// Sets the design of PIRLS. Empty: the formula's design.
  void iterate_in(std::optional<ChangedDesign> changed) {
    if (!changed && !changed_) return;
    changed_ = std::move(changed);
    rows_.design = changed_ ? &changed_->design : &model_.design;
    pass_.emplace(fit_.job, fit_.plan, rows_);
  }

  void note_ignored() const {
    for (int p = 0; p < fit_.formula.predictors(); ++p) {
      for (const SmoothSpec& smooth : fit_.formula.of_predictor(p).smooths) {
        std::set<std::string> told;
        for (const MarginSpec& margin : smooth.margins) {
          for (const std::string& one : margin.ignored) {
            if (told.insert(one).second)
              fit_.observer.note(fmt::format("{}: {}, as in mgcv", smooth.label, one));
          }
        }
      }
    }
  }
  void note_untested() {
    std::vector<std::string> untested;
    for (const CoefBlock& block : model_.design.blocks) {
      if (is_left_untested(model_.design, block, fit_.options.largest_tested_effect))
        untested.push_back(block.label);
    }
    if (!untested.empty()) fit_.observer.note("random effects not tested: " + text_of(untested));
  }

  void describe() {
    model_.formula = fit_.formula.text;
    model_.family = rows_.family;
    model_.weights = fit_.options.weights;
    model_.offset = fit_.options.offset;
    model_.subset = fit_.options.subset;
    model_.rho = rows_.series.rho;
    model_.ar_start = fit_.options.ar_start;
    model_.gamma = fit_.options.gamma;
    model_.smoothing_options = {fit_.options.select, fit_.options.sp, fit_.options.min_sp,
                                fit_.options.knots};
    const Variable& response = frame_.variables[static_cast<std::size_t>(rows_.response)];
    const std::string name = fit_.formula.limit ? fmt::format("cbind({}, {})", fit_.formula.response.text,
                                                              fit_.formula.limit->text)
                                                : fit_.formula.response.text;
    model_.response = {name,
                       fit_.formula.trials       ? "counts"
                       : fit_.formula.limit      ? "limits"
                       : response.levels.empty() ? "number"
                                                 : "factor",
                       response.levels};
    model_.recipe = frame_.recipe;
    for (const ColumnReading& column : frame_.columns) {
      if (!column.unit.empty()) model_.units.emplace_back(column.name, column.unit);
    }
    model_.rows = frame_.complete_rows;
    model_.rows_dropped = frame_.file_rows - frame_.complete_rows;
    model_.response_fingerprint =
        fingerprint_ ? fingerprint_->get(fit_.job.comm()) : response_fingerprint(workers(), rows_);
  }

  /// Sets the parts of the model that every rank has, in the coordinates of PIRLS.
  void take(const PirlsEnd& end, const RawMoments& moments) {
    model_.coef = end.coef;
    model_.converged = end.converged;
    model_.iterations = end.iterations;
    model_.no_estimate = end.no_estimate;
    model_.why_not_converged = end.why_not_converged;
    model_.scale = end.solution.scale * deviance_unit(rows_);
    if (model_.coef.empty() && std::isinf(model_.scale))
      throw base::input_error("the scale overflows: rescale the response");
    model_.edf_total = end.solution.edf_total;
    model_.log_sp = end.solution.log_sp;
    if (rows_.family.several() != nullptr) {
      measure_several(fit_, *pass_, rows_, moments, model_);
      model_.outline =
          outline_of(fit_.job, rows_, model_.design.raw_coefficients(model_.coef), fit_.options.residuals);
    } else {
      const double prior_weights = measure_deviance(fit_, *pass_, rows_, end.deviances, model_);
      reject_if_worse_than_null();
      outline(prior_weights);
    }
    model_.verdict = to_string(fit_.job.last_verdict());
    if (fit_.checkpoint != nullptr && !fit_.checkpoint->why_on_cpu().empty())
      model_.verdict = fit_.checkpoint->why_on_cpu();
  }
  /// Sets `converged` to false if the deviance exceeds the null deviance, impossible at a likelihood maximum.
  void reject_if_worse_than_null() {
    constexpr double rounding = 1e-7;
    if (!model_.converged || rows_.family.linear() || rows_.series.correlated()) return;
    if (model_.design.intercept() == nullptr) return;
    const double size = std::abs(model_.deviance) + std::abs(model_.null_deviance);
    if (!(model_.deviance - model_.null_deviance > rounding * size)) return;
    model_.converged = false;
    model_.why_not_converged = fmt::format(
        "the deviance, {:g}, exceeds the deviance of an intercept-only model, {:g}: the iteration ended at a "
        "local optimum; use another link",
        model_.deviance, model_.null_deviance);
  }
  void outline(double prior_weights) {
    constexpr int lags = 30;
    const std::vector<double> raw_coef = rows_.design->raw_coefficients(model_.coef);
    SerialResiduals serial;
    if (rows_.series.correlated()) serial = serial_residuals(fit_, rows_, raw_coef, lags);
    PhaseClock clock(fit_.job.comm(), fit_.phases, "outline", "the outline of the data");
    const bool of_squares = rows_.series.correlated() && rows_.family.name() == "gaussian";
    model_.aic = akaike(fit_, rows_, model_, prior_weights,
                        of_squares ? serial.sum_of_squares * deviance_unit(rows_) : model_.deviance);
    model_.outline = outline_of(fit_.job, rows_, raw_coef, fit_.options.residuals);
    model_.outline.autocorrelation = std::move(serial.autocorrelation);
  }

  /// Sets the parts of the model that only rank 0 has.
  void conclude(const WorkingSolver& solver) {
    model_.triangle = triangle_of_gram(solver.gram());
    if (!changed_) return conclude(model_.design, solver.fit(), solver.gram());
    const Change& change = changed_->change;
    if (!model_.triangle.empty()) model_.triangle = change.triangle_of_formula(std::move(model_.triangle));
    if (changed_->same_blocks) {
      conclude(changed_->design, solver.fit(), solver.gram());
      return change.transform_covariance(model_.covariance);
    }
    RemlFit fit = solver.fit();
    PartedMatrix gram = solver.gram();
    change.transform_solution(fit, gram);
    conclude(model_.design, fit, gram);
  }
  void conclude(const Design& design, const RemlFit& fit, const PartedMatrix& gram) {
    model_.reml = fit.score - rows_.series.log_determinant_in_reml(model_.rows);
    if (rows_.family.several() != nullptr) {
      // Laplace's approximation: replaces the normal log density of the working model, whose sum of squares
      // is 1 per row, by the log likelihood.
      const double minus_two_log = model_.aic - 2 * model_.edf_total;
      const auto rows = static_cast<double>(model_.rows);
      model_.reml += (minus_two_log - rows * (1 + base::log(2 * std::numbers::pi))) / (2 * model_.gamma);
    }
    model_.reml_gradient = fit.gradient;
    model_.reml_hessian = fit.hessian;
    model_.edf = fit.edf;
    model_.edf1 = fit.edf1;
    model_.edf1_total = std::accumulate(fit.edf1.begin(), fit.edf1.end(), 0.0);
    model_.covariance_scale = fit.covariance_scale * deviance_unit(rows_);
    model_.covariance = fit.inverse;
    model_.covariance.for_each_array([&](std::span<double> values) {
      for (double& value : values) value *= fit.covariance_scale;
    });
    TermTests tests = test_terms(design, fit, gram, !fit_.options.family.definition().scale_is_known(),
                                 model_.residual_df(), fit_.options.largest_tested_effect);
    model_.coefficient_tests = std::move(tests.coefficients);
    model_.smooth_tests = std::move(tests.smooths);
  }

  const FitContext& fit_;
  Frame frame_;
  Rows rows_;
  std::optional<FingerprintBeside> fingerprint_;  ///< computed concurrently with passes on devices
  std::optional<RowPass> pass_;
  Standards standards_;
  std::int64_t needed_bytes_ = 0;         ///< on this rank
  std::optional<RawSums> unweighted_;     ///< sums of the first working model, until the design is settled
  std::optional<ChangedDesign> changed_;  ///< design of PIRLS, if it is not the model's
  FittedModel model_;
};

}  // namespace

FittedModel fit_frame(const FitContext& fit, Frame frame) {
  return FitRun(fit, std::move(frame)).run();
}

}  // namespace TESSERA_NAMESPACE::gam
