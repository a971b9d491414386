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

struct PredictorRange {
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();

  [[nodiscard]] bool has_lower() const { return lower > -std::numeric_limits<double>::infinity(); }
  [[nodiscard]] bool has_upper() const { return upper < std::numeric_limits<double>::infinity(); }
  [[nodiscard]] bool any() const { return has_lower() || has_upper(); }
  [[nodiscard]] bool has(double eta) const { return eta > lower && eta < upper; }
};

/// The response family of a fit, with the values of its parameters: a built-in family with one of its links,
/// a custom family, or a family with several linear predictors. Default links are mgcv's, except log for
/// Gamma. parts.hpp lists the members of a family type; `visit` (visit.hpp) calls a function with that type.
class Family {
 public:
  Family() = default;  ///< gaussian
  /// Takes the parameters and constants of `family`; theta is fixed.
  template <BuiltInFamily F>
  // NOLINTNEXTLINE(google-explicit-constructor): it is one
  Family([[maybe_unused]] F family) : index_(index_of(F::name)) {
    if constexpr (value_count_of<F>() > 0) {
      for (int i = 0; i < value_count_of(family); ++i) parameters_.push_back(family.parameter(i));
    }
  }
  explicit Family(CustomFamily family) : custom_(std::make_shared<const CustomFamily>(std::move(family))) {}
  explicit Family(std::shared_ptr<const SeveralFamily> family) : several_(std::move(family)) {}

  /// Null unless the family is a `CustomFamily`.
  [[nodiscard]] const CustomFamily* custom() const { return custom_.get(); }
  /// Null unless the family is a `SeveralFamily`.
  [[nodiscard]] const SeveralFamily* several() const { return several_.get(); }
  /// TOML text of a user's family, for `own_family`; empty for a built-in family.
  [[nodiscard]] std::string toml() const;
  /// The complete definition of the family: `toml()`, or for a built-in family `text()`.
  [[nodiscard]] std::string full_text() const;
  [[nodiscard]] int predictor_count() const { return several_ ? several_->predictors() : 1; }
  /// Number of levels of a factor response; 0: the response must be a number.
  [[nodiscard]] int classes() const;
  /// Whether the response is a class with predicted probabilities (ocat, multinom).
  [[nodiscard]] bool has_classes() const { return classes() > 0 && !two_levels(); }
  [[nodiscard]] int first_class() const;
  /// Whether `respond` defines predictions on the response scale: several predictors, classes, or ziP.
  [[nodiscard]] bool has_outputs() const;
  /// Whether the fit must choose the learning rate or width of elf.
  [[nodiscard]] bool needs_calibration() const;
  [[nodiscard]] std::vector<std::string> outputs(std::span<const std::string> levels) const;
  void respond(std::span<const double> eta, std::span<double> values, std::span<double> jacobian) const;
  /// Index in `BuiltInFamilies`; only for a built-in family.
  [[nodiscard]] int index() const { return index_; }

  /// Index in `link_names()`; 0 is the default link.
  [[nodiscard]] int link() const { return link_; }
  /// Default first; empty unless the family is built in.
  [[nodiscard]] std::vector<std::string_view> link_names() const;
  /// This family with another link; empty if the family lacks the link.
  [[nodiscard]] std::optional<Family> linked(std::string_view name) const;
  /// Whether the link has a pole with valid means on both sides. All means of a fit must be on one side.
  [[nodiscard]] bool has_two_sides() const;
  /// Sign of all means of a fit, 1 or -1; 0: unrestricted.
  [[nodiscard]] int side() const { return side_; }
  [[nodiscard]] Family on_side(int side) const;
  [[nodiscard]] PredictorRange predictors() const;

  /// The parameters of the likelihood, then the constants of the family.
  [[nodiscard]] std::span<const double> parameters() const { return parameters_; }
  /// Number of likelihood parameters, without the constants.
  [[nodiscard]] std::size_t parameter_count() const;
  [[nodiscard]] bool estimates(std::size_t index) const;
  [[nodiscard]] bool estimates_parameters() const;
  /// Whether a search changes the parameter: an estimated parameter, or the first threshold of ordered
  /// classes if the model has an intercept.
  [[nodiscard]] bool moves(std::size_t index, bool with_intercept) const;
  /// Whether `parameters()` may have this size.
  [[nodiscard]] bool may_have(std::size_t values) const;
  /// This family with other values. Throws `std::invalid_argument` unless `may_have` accepts their number.
  [[nodiscard]] Family at(std::vector<double> parameters) const;
  /// This family with theta estimated, or fixed. Throws `std::invalid_argument` if it has no parameter.
  [[nodiscard]] Family estimated(bool estimated) const;
  [[nodiscard]] std::vector<std::string> parameter_names() const;
  /// Whether all parameters and constants are valid, e.g. theta > 0; `at` does not check this.
  [[nodiscard]] bool parameters_are_valid() const;
  /// Parameters on the unconstrained scale of the search, then the constants.
  [[nodiscard]] std::vector<double> working_parameters() const;
  [[nodiscard]] Family at_working(std::span<const double> working) const;
  /// For messages: what it means if the likelihood rises towards a limit of the first parameter.
  [[nodiscard]] std::string_view at_limit() const;

  [[nodiscard]] std::string_view name() const;
  /// A call that `chosen_family` parses: "poisson", "binomial(probit)", "nb(theta=3)", "tw(theta=-1.5)".
  [[nodiscard]] std::string text() const;
  /// As mgcv prints it: "Negative Binomial(2.345)".
  [[nodiscard]] std::string title() const;
  /// For several linear predictors all link names, separated by blanks.
  [[nodiscard]] std::string link_name() const;
  [[nodiscard]] std::string_view residuals() const;
  /// Whether a fit may have an AR(1) model of the residuals: needs one predictor and expected information.
  [[nodiscard]] bool may_be_correlated() const;
  [[nodiscard]] bool scale_is_known() const;
  /// The scale phi: 1, or a likelihood parameter; empty if REML estimates the scale.
  [[nodiscard]] std::optional<double> scale() const;
  [[nodiscard]] bool linear() const;
  [[nodiscard]] Start start() const;
  [[nodiscard]] Limits limits() const;
  [[nodiscard]] bool two_levels() const;
  /// Whether a `Response` may be censored.
  [[nodiscard]] bool is_censored() const;

  [[nodiscard]] double mean(double eta) const;
  [[nodiscard]] double derivative(double eta) const;
  /// The mean response, also for ziP, whose `mean` is the linear predictor. For ocat the linear predictor.
  [[nodiscard]] double fitted(double eta) const;
  /// The variance function V(mu); NaN if the family's steps do not use V.
  [[nodiscard]] double variance(double mu) const;
  [[nodiscard]] double working_weight(Response y, double eta, double prior) const;
  /// Working response minus linear predictor.
  [[nodiscard]] double working_residual(Response y, double eta) const;
  /// Response minus fitted mean; for ordered classes, response minus the class at `mu`.
  [[nodiscard]] double response_residual(Response y, double mu) const;
  /// A number with the sign of the residual.
  [[nodiscard]] double residual_side(Response y, double mu) const;
  /// Deviance of one row, relative to the saturated model.
  [[nodiscard]] double deviance(Response y, double mu, double prior) const;
  /// Whether the summed deviance omits the saturated log likelihood; if so, subtract `SaturatedSum`.
  [[nodiscard]] bool deviance_lacks_saturated() const;
  /// Whether the null model's mean is the maximum likelihood estimate instead of the mean response.
  [[nodiscard]] bool null_is_likeliest() const;
  /// The linear predictor of a mean; empty if the link is undefined there.
  [[nodiscard]] std::optional<double> predictor(double mean) const;
  /// The least value that the largest response of a fit may have.
  [[nodiscard]] double least_maximum() const;
  /// Reason why `y` is not a valid response; empty if valid.
  [[nodiscard]] std::optional<std::string_view> response_fault(Response y) const;

  /// One row's -2 log likelihood at the given scale, like the terms of R's family()$aic. mgcv's bam()$aic is
  /// the sum of these terms at `aic_scale`, plus 2 if the scale is estimated, plus twice the total edf. 0 for
  /// a row without weight; NaN for a custom family, whose density is unknown.
  [[nodiscard]] double minus_two_log_likelihood(Response y, double mu, double weight, double scale) const;
  /// Whether R rounds the response or the weight in the likelihood but not in the deviance: binomial rows
  /// with fractional successes or trials. The likelihood of such a row cannot be computed from its deviance.
  [[nodiscard]] bool likelihood_rounds(double y, double weight) const;
  [[nodiscard]] double aic_scale(double deviance, double rows, double scale) const;
  /// The deviance's part of AIC: deviance / scale, except for the inverse Gaussian. `weights`: sum of
  /// weights.
  [[nodiscard]] double aic_misfit(double deviance, double weights, double scale) const;

  /// Index of the first invalid response; `responses.size()` if all are valid.
  [[nodiscard]] std::size_t first_fault(std::span<const double> responses) const;
  /// A row's term of `SaturatedSum` for weight 1; empty if the term depends on the response.
  [[nodiscard]] std::optional<double> constant_saturated(double scale) const;

  /// CUDA C++ source of `family_of(parameters)`, which returns a `RowFamily`. The source needs list.hpp, and
  /// does not depend on the parameters' values.
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
/// A built-in family by R's name, also in lower case, with its parameters marked as estimated; or the call of
/// a family with several linear predictors. Empty if unknown.
[[nodiscard]] std::optional<Family> parse_family(std::string_view text);

/// A user's family from TOML text. Throws like `parse_custom_family`.
[[nodiscard]] Family own_family(const std::string& toml, const std::string& origin);

/// Parses a call as R users write it, in any case: "poisson", "binomial(probit)", "Gamma(link = log)",
/// "nb(theta = 3)", "quasi(log, mu^2)"; or "@FILE", a user's TOML file. As in mgcv, a positive theta is
/// fixed, and a negative theta is minus the initial estimate. Throws `Error(usage)` for an unknown name, link
/// or parameter, and `Error(input)` for an unreadable or invalid file.
[[nodiscard]] Family chosen_family(const std::string& text);

}  // namespace TESSERA_NAMESPACE::gam
