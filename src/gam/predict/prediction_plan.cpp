// SPDX-License-Identifier: Apache-2.0
#include "gam/predict/prediction_plan.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/whole_inverse.hpp"
#include "gam/model/covariance.hpp"
#include "gam/rows/prediction_pass.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// The variable of R's formula from which an expression is derived: "poly(x, 2)" for poly(x, 2)1, "dose" for
/// dose.L.
std::string variable_in_formula(const std::string& column, const FormulaTerms& formula,
                                const Recipe& recipe) {
  for (const Expression& one : formula.variables()) {
    if (one.text == column && one.computed() && column == one.source + std::to_string(one.part))
      return one.source;
  }
  const auto is_it = [&](const Expression& one) { return one.text == column; };
  if (std::ranges::none_of(recipe.contrasts, is_it)) return column;
  return column.substr(0, column.find_last_of(".^"));
}

bool is_asked_for(const std::string& label, const PredictOptions& options) {
  const auto names_it = [&](const std::string& name) { return name == label; };
  return (!options.terms || std::ranges::any_of(*options.terms, names_it)) &&
         std::ranges::none_of(options.exclude, names_it);
}

void refuse_unknown(const std::vector<std::string>& names, const std::vector<ModelTerm>& terms) {
  for (const std::string& name : names) {
    if (std::ranges::any_of(terms, [&](const ModelTerm& term) { return term.label == name; })) continue;
    std::string known;
    constexpr std::size_t most = 20;
    for (std::size_t i = 0; i < std::min(terms.size(), most); ++i)
      known += (known.empty() ? "" : ", ") + terms[i].label;
    if (terms.size() > most) known += fmt::format(" and {} more", terms.size() - most);
    throw base::usage_error("the model has no term '{}': it has {}", name, known);
  }
}

/// Removes the blocks that are not in `kept`, and raw terms that no kept block uses.
void keep_blocks(Design& design, const std::vector<bool>& kept) {
  std::vector<CoefBlock> blocks;
  for (std::size_t b = 0; b < kept.size(); ++b) {
    if (kept[b]) blocks.push_back(std::move(design.blocks[b]));
  }
  design.blocks = std::move(blocks);
  std::erase_if(design.terms, [&](const RawTerm& term) {
    return std::ranges::none_of(design.blocks, [&](const CoefBlock& block) {
      return block.raw_begin >= term.raw_begin && block.raw_begin < term.raw_begin + term.raw_size;
    });
  });
}

enum class UnseenLevel { is_zero, is_missing };

UnseenLevel effect_of_unseen_level(const Design& design, const CoefBlock& block, const std::string& factor,
                                   NewLevels policy) {
  // A by variable is the last variable of its block.
  const bool by = !block.by_level.empty() && block.variables.back() == factor;
  if (policy == NewLevels::na || by || !block.is_smooth()) return UnseenLevel::is_missing;
  const bool of_districts =
      std::ranges::any_of(design.term_of(block).components, [&](const Component& component) {
        return component.districts && design.variables[at(component.variable)].name == factor;
      });
  return (block.is_factor_smooth() || of_districts) && policy != NewLevels::population
             ? UnseenLevel::is_missing
             : UnseenLevel::is_zero;
}

class PredictionPlanner {
 public:
  PredictionPlanner(const FittedModel& model, const FormulaTerms& formula, const PredictOptions& options)
      : model_(model), options_(options), terms_(terms_of(model, formula)) {}

  PredictionPlan run() {
    plan_.terms = options_.type == PredictionType::terms || options_.type == PredictionType::iterms;
    plan_.design_rows = options_.type == PredictionType::lpmatrix;
    plan_.offsets = !plan_.terms && !plan_.design_rows;
    check();
    if (options_.terms) refuse_unknown(*options_.terms, terms_);
    refuse_unknown(options_.exclude, terms_);
    choose_terms();
    plan_unseen_levels();
    if (plan_.terms) divide();
    if (plan_.offsets && model_.family.several() != nullptr) divide_by_predictor();
    if (responds_by_column()) plan_.names = model_.family.outputs(model_.response.levels);
    if (options_.type == PredictionType::iterms && needs_covariance(options_)) add_uncertainty_of_mean();
    // Intervals and draws need the scale of the linear predictor.
    plan_.posterior.response = options_.type == PredictionType::response && options_.interval == 0 &&
                               options_.prediction_interval == 0 && options_.draws == 0 &&
                               !model_.family.has_outputs();
    if (plan_.design_rows) plan_.names = model_.design.coef_names();
    return std::move(plan_);
  }

 private:
  [[nodiscard]] bool responds_by_column() const {
    return options_.type == PredictionType::response && model_.family.has_outputs();
  }

  void check() const {
    for (const double probability : {options_.interval, options_.prediction_interval})
      require_probability(probability);
    if (options_.prediction_interval > 0 && options_.type != PredictionType::response)
      throw base::usage_error("prediction intervals need the type response: set type to response");
    if (needs_covariance(options_)) require_covariance(model_, "standard errors, intervals and draws");
    if (options_.draws > 0 && model_.family.several() != nullptr)
      throw base::usage_error(
          "draws of predictions are not available for the family {}, which has several linear predictors: "
          "set draws to 0",
          model_.family.name());
    if (options_.prediction_interval > 0 && model_.family.has_classes())
      throw base::usage_error(
          "a response of classes has no prediction interval: predict the probabilities of the classes");
    if ((options_.interval > 0 || options_.draws > 0) && responds_by_column())
      throw base::usage_error(
          "{} of a prediction of the family {} are available only on the link scale: set type to link, or "
          "request standard errors instead",
          options_.draws > 0 ? "draws" : "intervals", model_.family.name());
    if (options_.draws > 0) {
      if (!plan_.offsets || options_.standard_errors || options_.interval > 0 ||
          options_.prediction_interval > 0)
        throw base::usage_error(
            "draws need the type link or response, and cannot be combined with standard errors or intervals: "
            "change the type, or remove standard errors and intervals");
      require_whole_covariance(model_, "draws of the coefficients");
    }
    if (options_.type == PredictionType::lpmatrix && needs_covariance(options_))
      throw base::usage_error(
          "standard errors and intervals are not available for the type lpmatrix: remove these options, or "
          "set another type");
  }

  void choose_terms() {
    const std::vector<CoefBlock>& blocks = model_.design.blocks;
    std::vector<bool> kept(blocks.size());
    bool all_parametric = true;
    for (const ModelTerm& term : terms_) {
      const bool is_constant = blocks[at(term.blocks.front())].is_intercept();
      const bool is_kept = is_asked_for(term.label, options_) && !(plan_.terms && is_constant);
      if (is_kept) asked_for_.push_back(&term);
      for (const int block : term.blocks) kept[at(block)] = is_kept;
      all_parametric = all_parametric && (is_kept || term.smooth);
    }
    // Coefficients of centred columns are valid only together, so all parametric terms must be kept.
    PredictiveModel from = all_parametric && plan_.offsets && !options_.unconditional
                               ? model_.predictive()
                               : PredictiveModel{model_.design, model_.coef, model_.covariance};
    for (const CoefBlock& block : blocks) {
      if (plan_.terms && block.is_intercept() && model_.design.predictor_of(block) == 0)
        plan_.constant = model_.coef[at(block.coef_begin)];
    }
    plan_.design = std::move(from.design);
    plan_.posterior.coef = std::move(from.coef);
    if (needs_covariance(options_)) {
      plan_.posterior.covariance = std::move(from.covariance);
      if (options_.unconditional) {
        uncertainty_root_ = uncertainty_root(model_);
        plan_.posterior.covariance =
            with_uncertainty(std::move(plan_.posterior.covariance), uncertainty_root_);
      }
    }
    keep_blocks(plan_.design, kept);
    if (!model_.absent_rows.empty()) plan_absent_rows(kept);
  }

  void plan_absent_rows(const std::vector<bool>& kept) {
    plan_.posterior.coef = model_.predictor_coef;
    if (plan_.terms) {
      for (const ModelTerm* term : asked_for_) {
        std::vector<int>& absent = plan_.absent_of_term.emplace_back();
        for (const int b : term->blocks) {
          const CoefBlock& block = model_.design.blocks[at(b)];
          for (int i = block.coef_begin; i < block.coef_begin + block.coef_size; ++i) {
            if (std::isnan(model_.coef[at(i)])) absent.push_back(i);
          }
        }
      }
      return;
    }
    if (plan_.design_rows) return;
    plan_.absent_rows = model_.absent_rows;
    for (std::size_t b = 0; b < kept.size(); ++b) {
      const CoefBlock& block = model_.design.blocks[b];
      const auto own = std::span(model_.absent_rows).subspan(at(block.coef_begin), at(block.coef_size));
      if (!kept[b] && std::ranges::any_of(own, [](double one) { return one != 0; }))
        throw base::usage_error(
            "the term '{}' cannot be excluded, because its levels with only 0 responses have a linear "
            "predictor of minus infinity: remove the term from 'exclude', or add the term to 'terms'",
            block.label);
    }
  }

  /// One output column per requested term.
  void divide() {
    TermColumns& columns = plan_.posterior.terms;
    columns.count = static_cast<int>(asked_for_.size());
    columns.of_raw.assign(at(plan_.design.raw_size), -1);
    for (int c = 0; c < columns.count; ++c) {
      plan_.names.push_back(asked_for_[at(c)]->label);
      for (const int b : asked_for_[at(c)]->blocks) {
        const CoefBlock& block = model_.design.blocks[at(b)];
        std::fill_n(columns.of_raw.begin() + block.raw_begin, block.raw_size, c);
      }
    }
  }

  /// One output column per linear predictor, with suffixes "", ".1", ".2", ….
  void divide_by_predictor() {
    const int predictors = model_.family.predictor_count();
    plan_.posterior.terms = columns_by_predictor(plan_.design, predictors);
    for (int p = 0; p < predictors; ++p) plan_.names.push_back(p == 0 ? "" : fmt::format(".{}", p));
  }

  /// Variance of a centred smooth in row x for iterms: (x + m)'V(x + m), with the means m of all other
  /// columns.
  void add_uncertainty_of_mean() {
    if (model_.coef.empty()) return;
    require_computable_covariance(model_, "standard errors of iterms");
    if (model_.column_means.empty())
      throw base::usage_error(
          "the model has no column means, because an earlier version of tessera-fit wrote it: fit the model "
          "again, or use the type terms");
    const PartedMatrix& covariance = plan_.posterior.covariance;
    std::vector<double> of_means = WholeInverse(model_.covariance).times(model_.column_means);
    if (options_.unconditional)
      add_multiple(of_means, 1,
                   multiply(uncertainty_root_, multiply_t(uncertainty_root_, model_.column_means)));
    const double whole = dot(model_.column_means, of_means);
    TermColumns& columns = plan_.posterior.terms;
    columns.slopes.assign(at(plan_.design.raw_size), 0);
    columns.constants.assign(at(columns.count), 0);
    for (int c = 0; c < columns.count; ++c) {
      const CoefBlock& block = model_.design.blocks[at(asked_for_[at(c)]->blocks.front())];
      if (!block.centred) continue;
      const auto own = std::span(model_.column_means).subspan(at(block.coef_begin), at(block.coef_size));
      const auto with_all = std::span(of_means).subspan(at(block.coef_begin), at(block.coef_size));
      std::vector<double> with_others = multiply(covariance.block(block.coef_begin, block.coef_size), own);
      columns.constants[at(c)] = whole - 2 * dot(own, with_all) + dot(own, with_others);
      for (std::size_t i = 0; i < own.size(); ++i) with_others[i] = 2 * (with_all[i] - with_others[i]);
      std::ranges::copy(block.to_raw(with_others), columns.slopes.begin() + block.raw_begin);
    }
  }

  void plan_unseen_levels() {
    for (const auto& [factor, levels] : plan_.design.known_levels()) {
      bool all_zero = true;
      std::vector<int> missing;
      const Design& design = plan_.terms ? model_.design : plan_.design;
      const auto look = [&, &factor = factor](const CoefBlock& block, int first, int count) {
        if (std::ranges::find(block.variables, factor) == block.variables.end()) return;
        if (effect_of_unseen_level(design, block, factor, options_.new_levels) == UnseenLevel::is_zero)
          return;
        all_zero = false;
        for (int i = 0; i < count; ++i) missing.push_back(first + i);
      };
      if (plan_.terms) {
        for (std::size_t c = 0; c < asked_for_.size(); ++c) {
          for (const int b : asked_for_[c]->blocks) look(design.blocks[at(b)], static_cast<int>(c), 1);
        }
      } else {
        for (const CoefBlock& block : design.blocks) look(block, block.coef_begin, block.coef_size);
      }
      if (plan_.offsets) {
        if (all_zero) plan_.unseen_is_complete.push_back(factor);
        continue;
      }
      plan_.unseen_is_complete.push_back(factor);
      if (!missing.empty()) plan_.nan_at_unseen_levels.emplace_back(factor, std::move(missing));
    }
  }

  const FittedModel& model_;
  const PredictOptions& options_;
  std::vector<ModelTerm> terms_;
  std::vector<const ModelTerm*> asked_for_;
  PredictionPlan plan_;
  Matrix uncertainty_root_;  ///< root of the covariance that the smoothing parameters add, for unconditional
                             ///< standard errors
};

}  // namespace

std::vector<ModelTerm> terms_of(const FittedModel& model, const FormulaTerms& formula) {
  std::vector<ModelTerm> terms;
  const std::vector<CoefBlock>& blocks = model.design.blocks;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const CoefBlock& block = blocks[b];
    const int index = static_cast<int>(b);
    if (block.is_smooth() || block.variables.empty()) {
      terms.push_back({block.label, {index}, block.is_smooth()});
      continue;
    }
    std::string label;
    for (const std::string& variable : block.variables)
      label += (label.empty() ? "" : ":") + variable_in_formula(variable, formula, model.recipe);
    if (const int predictor = model.design.predictor_of(block); predictor > 0)
      label += fmt::format(".{}", predictor);
    const auto known = std::ranges::find_if(
        terms, [&](const ModelTerm& term) { return !term.smooth && term.label == label; });
    if (known == terms.end())
      terms.push_back({std::move(label), {index}, false});
    else
      known->blocks.push_back(index);
  }
  return terms;
}

void require_probability(double probability) {
  if (!(probability >= 0 && probability < 1))
    throw base::usage_error(
        "the probability of an interval is {}: give one above 0 and below 1, such as 0.95", probability);
}

bool needs_covariance(const PredictOptions& options) {
  return options.standard_errors || options.interval > 0 || options.prediction_interval > 0 ||
         options.draws > 0;
}

PredictionPlan plan_of(const FittedModel& model, const FormulaTerms& formula, const PredictOptions& options) {
  return PredictionPlanner(model, formula, options).run();
}

}  // namespace TESSERA_NAMESPACE::gam
