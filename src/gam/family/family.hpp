// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/custom_family.hpp"
#include "gam/family/several_family.hpp"

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// An open interval of linear predictors.
struct PredictorRange {
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();

  [[nodiscard]] bool has_lower() const { return lower > -std::numeric_limits<double>::infinity(); }
  [[nodiscard]] bool has_upper() const { return upper < std::numeric_limits<double>::infinity(); }
  [[nodiscard]] bool any() const { return has_lower() || has_upper(); }
  [[nodiscard]] bool has(double eta) const { return eta > lower && eta < upper; }
};

/// The family of a fit: a built-in one with one of its links (the first is mgcv's default, log for the
/// Gamma), a custom one, or one with several linear predictors; and the values of its parameters. parts.hpp
/// lists the parts of a family; visit.hpp calls functions with the family's own type.
class Family {
 public:
  Family() = default;  ///< the first family of the list
  /// Takes the values of `family`, with its theta fixed.
  template <BuiltInFamily F>
  // NOLINTNEXTLINE(google-explicit-constructor): it is one
  Family([[maybe_unused]] F family) : index_(index_of(F::name)) {
    if constexpr (value_count_of<F>() > 0) {
      for (int i = 0; i < value_count_of(family); ++i) parameters_.push_back(family.parameter(i));
    }
  }
  explicit Family(CustomFamily family) : custom_(std::make_shared<const CustomFamily>(std::move(family))) {}
  explicit Family(std::shared_ptr<const SeveralFamily> family) : several_(std::move(family)) {}

  /// Null for a built-in family.
  [[nodiscard]] const CustomFamily* custom() const { return custom_.get(); }
  /// Null for a family with one linear predictor.
  [[nodiscard]] const SeveralFamily* several() const { return several_.get(); }
  /// The text of a user's family, which `own_family` reads; empty: a built-in one.
  [[nodiscard]] std::string toml() const;
  /// All that defines the family: its TOML, or its call.
  [[nodiscard]] std::string full_text() const;
  [[nodiscard]] int predictor_count() const { return several_ ? several_->predictors() : 1; }
  /// Number of levels that a factor must have to be a response; 0: the response is a number.
  [[nodiscard]] int classes() const;
  /// Whether the response is a class, with a probability of each, rather than a proportion.
  [[nodiscard]] bool has_classes() const { return classes() > 0 && !two_levels(); }
  /// The number of the first class.
  [[nodiscard]] int first_class() const;
  /// Whether predictions on the scale of the response have columns of their own, as in `SeveralFamily`: with
  /// several linear predictors, with classes, and for ziP.
  [[nodiscard]] bool has_outputs() const;
  /// Whether the family is of a quantile whose learning rate or width the fit chooses.
  [[nodiscard]] bool needs_calibration() const;
  [[nodiscard]] std::vector<std::string> outputs(std::span<const std::string> levels) const;
  void respond(std::span<const double> eta, std::span<double> values, std::span<double> jacobian) const;
  /// Index in `BuiltInFamilies`, if built in.
  [[nodiscard]] int index() const { return index_; }

  /// Index of the link in `link_names()`; 0 is the default.
  [[nodiscard]] int link() const { return link_; }
  /// Links of a built-in family, its default first.
  [[nodiscard]] std::vector<std::string_view> link_names() const;
  /// The family with the named link; nothing if it lacks that link.
  [[nodiscard]] std::optional<Family> linked(std::string_view name) const;
  /// Whether the link has a pole with valid means on both sides. All means of one fit are on one side.
  [[nodiscard]] bool has_two_sides() const;
  /// The sign of all means of a fit, 1 or -1; 0: any.
  [[nodiscard]] int side() const { return side_; }
  [[nodiscard]] Family on_side(int side) const;
  /// The open interval of predictors whose means are valid.
  [[nodiscard]] PredictorRange predictors() const;

  /// The parameters of the likelihood, then the family's constants. Empty if there are none.
  [[nodiscard]] std::span<const double> parameters() const { return parameters_; }
  /// Number of values that are parameters of the likelihood.
  [[nodiscard]] std::size_t parameter_count() const;
  /// Whether the parameter with this index is estimated; otherwise it is fixed.
  [[nodiscard]] bool estimates(std::size_t index) const;
  [[nodiscard]] bool estimates_parameters() const;
  /// Whether a search moves the parameter with this index: an estimated one or, if the model has an intercept
  /// that moves with it, the first threshold of classes.
  [[nodiscard]] bool moves(std::size_t index, bool with_intercept) const;
  /// Whether the family may have this many values; most have a fixed number.
  [[nodiscard]] bool may_have(std::size_t values) const;
  /// This family with other values.
  [[nodiscard]] Family at(std::vector<double> parameters) const;
  /// This family with theta estimated or fixed; it must have parameters.
  [[nodiscard]] Family estimated(bool estimated) const;
  [[nodiscard]] std::vector<std::string> parameter_names() const;  ///< names of all values
  /// Whether the values are valid, e.g. theta is above 0; `at` does not check this.
  [[nodiscard]] bool has_such_parameters() const;
  /// The values, with the parameters on their working scales.
  [[nodiscard]] std::vector<double> working_parameters() const;
  [[nodiscard]] Family at_working(std::span<const double> working) const;
  /// For messages: what it means that the likelihood rises towards a limit of the first parameter.
  [[nodiscard]] std::string_view at_limit() const;

  [[nodiscard]] std::string_view name() const;
  /// The text that `chosen_family` reads: "poisson", "binomial(probit)", "nb(theta=3)", "tw(theta=-1.5)".
  [[nodiscard]] std::string text() const;
  /// The name as mgcv prints it: "Negative Binomial(2.345)".
  [[nodiscard]] std::string title() const;
  /// The link's name; for several predictors all names, separated by blanks.
  [[nodiscard]] std::string link_name() const;
  [[nodiscard]] std::string_view residuals() const;
  /// Whether working residuals may have a correlation: those of families with one linear predictor and the
  /// expected information.
  [[nodiscard]] bool may_be_correlated() const;
  [[nodiscard]] bool scale_is_known() const;
  /// The scale phi of the working model: 1, or a parameter of the likelihood; empty: it is estimated by REML.
  [[nodiscard]] std::optional<double> scale() const;
  [[nodiscard]] bool linear() const;
  [[nodiscard]] Start start() const;
  [[nodiscard]] Limits limits() const;
  [[nodiscard]] bool two_levels() const;
  /// Whether a response may have a second number, as `Response` has it.
  [[nodiscard]] bool is_censored() const;

  [[nodiscard]] double mean(double eta) const;
  [[nodiscard]] double derivative(double eta) const;
  /// The mean of a response, also for a family such as ziP, whose `mean` is the linear predictor; of ordered
  /// classes the linear predictor.
  [[nodiscard]] double fitted(double eta) const;
  /// The variance function V(mu); NaN for a family whose steps do not use it.
  [[nodiscard]] double variance(double mu) const;
  /// The weight of a row with this prior weight in a working model.
  [[nodiscard]] double working_weight(Response y, double eta, double prior) const;
  /// The step of a row's predictor by which the working response exceeds it.
  [[nodiscard]] double working_residual(Response y, double eta) const;
  /// The response less its mean; of ordered classes less the class of the predictor.
  [[nodiscard]] double response_residual(Response y, double mu) const;
  /// A number with the sign of the residual.
  [[nodiscard]] double residual_side(Response y, double mu) const;
  /// The deviance of one row, relative to the saturated model.
  [[nodiscard]] double deviance(Response y, double mu, double prior) const;
  /// Whether the deviance that passes sum lacks the saturated model's likelihood: subtract `SaturatedSum`.
  [[nodiscard]] bool deviance_lacks_saturated() const;
  /// Whether the constant mean of the null model is that of maximum likelihood even without an offset;
  /// otherwise it is the mean of the responses.
  [[nodiscard]] bool null_is_likeliest() const;
  /// The predictor of a mean; empty if there is none.
  [[nodiscard]] std::optional<double> predictor(double mean) const;
  /// The largest response of a fit is at least this.
  [[nodiscard]] double least_maximum() const;
  /// Why `y` cannot be a response of the family; empty if it can.
  [[nodiscard]] std::optional<std::string_view> response_fault(Response y) const;

  /// One row's term of -2 log likelihood at the given scale, like the terms of R's family()$aic. mgcv's
  /// bam()$aic is the sum of these terms at `aic_scale`, plus 2 if the scale is estimated, plus twice the
  /// total edf. 0 for a row without weight; NaN for a custom family, whose density is unknown.
  [[nodiscard]] double minus_two_log_likelihood(Response y, double mu, double weight, double scale) const;
  /// Whether R rounds the response or the weight in the likelihood, but not in the deviance: in a binomial
  /// row whose successes or trials are not whole numbers. The likelihood of such a row cannot be computed
  /// from its deviance.
  [[nodiscard]] bool likelihood_rounds(double y, double weight) const;
  [[nodiscard]] double aic_scale(double deviance, double rows, double scale) const;
  /// AIC is the sum of this term and of the saturated model's part. The term is the deviance divided by the
  /// scale, except for the inverse Gaussian. `weights` is the sum of the prior weights.
  [[nodiscard]] double aic_misfit(double deviance, double weights, double scale) const;

  // Functions of many rows, in loops compiled for the family.

  /// The index of the first invalid response; the number of responses if all are valid.
  [[nodiscard]] std::size_t first_fault(std::span<const double> responses) const;
  /// What each response of weight 1 adds to `SaturatedSum`; empty if this depends on the response.
  [[nodiscard]] std::optional<double> constant_saturated(double scale) const;

  /// CUDA C++ source that defines `family_of(parameters)`, an object with the parts of a `RowFamily`. The
  /// source includes list.hpp, and does not depend on the values of the parameters.
  [[nodiscard]] std::string device_source() const;

 private:
  static int index_of(std::string_view name);

  int index_ = 0;
  int link_ = 0;
  int side_ = 0;
  std::shared_ptr<const CustomFamily> custom_;
  std::shared_ptr<const SeveralFamily> several_;
  std::vector<double> parameters_;
  bool estimated_ = false;
};

/// All built-in families, with their parameters marked as estimated.
[[nodiscard]] std::vector<Family> built_in_families();
/// The built-in family of a name, R's or the same in lower case, with its parameters marked as estimated; or
/// the family with several predictors of a text.
[[nodiscard]] std::optional<Family> parse_family(std::string_view text);

/// A user's family, from the text of a TOML file. Throws like `parse_custom_family`.
[[nodiscard]] Family own_family(const std::string& toml, const std::string& origin);

/// A built-in family as R's users write it, in any case: "poisson", "binomial(probit)", "Gamma(link = log)",
/// "nb(theta = 3)", "quasi(log, mu^2)"; or "@FILE": a custom family. As in mgcv, a positive theta is fixed,
/// and a negative theta is minus the initial estimate. Throws `Error(usage)` for another name, link or
/// parameter, `Error(input)` if the file cannot be read, or `own_family` rejects it.
[[nodiscard]] Family chosen_family(const std::string& text);

}  // namespace TESSERA_NAMESPACE::gam
