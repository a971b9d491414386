// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/custom_family.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::gam {

/// The family of a fit: one of the list with one of its links, of which the first is mgcv's default (of the
/// Gamma the log), or a custom one, and the values of its parameters. parts.hpp says what each part is;
/// visit.hpp gives it as its own type.
class Family {
 public:
  Family() = default;  ///< the first of the list
  /// Parameters that are as in `family`, and fixed there.
  template <BuiltInFamily F>
  // NOLINTNEXTLINE(google-explicit-constructor): it is one
  Family([[maybe_unused]] F family) : index_(index_of(F::name)) {
    if constexpr (parameter_count_of<F>() > 0) {
      for (int i = 0; i < F::parameter_count; ++i) parameters_.push_back(family.parameter(i));
    }
  }
  explicit Family(CustomFamily family) : custom_(std::make_shared<const CustomFamily>(std::move(family))) {}

  /// Null for a built-in family.
  [[nodiscard]] const CustomFamily* custom() const { return custom_.get(); }
  /// In the list, where the family is built in.
  [[nodiscard]] int index() const { return index_; }

  /// Among its links; 0 is its own.
  [[nodiscard]] int link() const { return link_; }
  /// Of a built-in family, its own first.
  [[nodiscard]] std::vector<std::string_view> link_names() const;
  /// The family with the link of a name; nothing if it has none such.
  [[nodiscard]] std::optional<Family> linked(std::string_view name) const;

  /// Empty if it has none.
  [[nodiscard]] std::span<const double> parameters() const { return parameters_; }
  /// True: the parameters are where an estimate stands or begins; false: they are given, or there are none.
  [[nodiscard]] bool estimates_parameters() const { return estimated_; }
  /// The same family at other parameters, as many as it has.
  [[nodiscard]] Family at(std::vector<double> parameters) const;
  /// The same with parameters that are to be estimated from here, or not. Of a family that has any.
  [[nodiscard]] Family estimated(bool estimated) const;
  [[nodiscard]] std::vector<std::string_view> parameter_names() const;
  /// Whether the values of the parameters can be ones, which `at` does not ask: a theta above 0.
  [[nodiscard]] bool has_such_parameters() const;
  /// The parameters on their working scales.
  [[nodiscard]] std::vector<double> working_parameters() const;
  [[nodiscard]] Family at_working(std::span<const double> working) const;
  /// Of a family with parameters: what it means if the likelihood rises towards a limit of one.
  [[nodiscard]] std::string_view at_limit() const;

  [[nodiscard]] std::string_view name() const;
  /// As `chosen_family` reads it: "poisson", "binomial(probit)", "nb(theta=3)".
  [[nodiscard]] std::string text() const;
  /// As mgcv prints it: the name, or "Negative Binomial(2.345)".
  [[nodiscard]] std::string title() const;
  [[nodiscard]] std::string_view link_name() const;
  [[nodiscard]] std::string_view residuals() const;
  [[nodiscard]] bool scale_is_known() const;
  [[nodiscard]] bool linear() const;
  [[nodiscard]] Start start() const;
  [[nodiscard]] Limits limits() const;
  [[nodiscard]] bool two_levels() const;

  [[nodiscard]] double mean(double eta) const;
  [[nodiscard]] double derivative(double eta) const;
  [[nodiscard]] double deviance(double y, double mu, double prior) const;
  /// The predictor of a mean; nothing if there is none.
  [[nodiscard]] std::optional<double> predictor(double mean) const;
  /// Why `y` cannot be a response of the family; nothing if it can.
  [[nodiscard]] std::optional<std::string_view> response_fault(double y) const;

  /// aic's -2 log-likelihood part for one row at the given scale, as R's family()$aic adds it up. mgcv's
  /// bam()$aic is the sum over the rows at `aic_scale`, plus 2 where the scale is estimated, plus twice the
  /// total edf. 0 for a row without weight; NaN for a custom family, whose density is not known.
  [[nodiscard]] double minus_two_log_likelihood(double y, double mu, double weight, double scale) const;
  /// Whether that is of other numbers than those of the deviance: a binomial row whose successes or trials R
  /// rounds, so that its likelihood is not the saturated model's less its deviance.
  [[nodiscard]] bool likelihood_rounds(double y, double weight) const;
  [[nodiscard]] double aic_scale(double deviance, double rows, double scale) const;

  // Of many rows, in a loop of the family's own.

  /// The first of these that cannot be a response; their number if all can.
  [[nodiscard]] std::size_t first_fault(std::span<const double> responses) const;
  /// Adds to `sum`, row by row, what is left of minus twice the log likelihood without the deviance over the
  /// scale: that of the saturated model. It depends on the mean only of rows whose likelihood rounds:
  /// `predictor(i)` is asked for theirs. Without `weights` all are 1.
  [[nodiscard]] double add_saturated(double sum, std::span<const double> responses,
                                     std::span<const double> weights, double scale,
                                     const std::function<double(std::size_t)>& predictor) const;

  /// CUDA C++ that defines `family_of(parameters)`, an object with the parts of a `RowFamily`: the same for
  /// all values of the parameters. It includes list.hpp.
  [[nodiscard]] std::string device_source() const;

 private:
  static int index_of(std::string_view name);

  int index_ = 0;
  int link_ = 0;
  std::shared_ptr<const CustomFamily> custom_;
  std::vector<double> parameters_;
  bool estimated_ = false;
};

/// The list. Parameters are to be estimated.
[[nodiscard]] std::vector<Family> built_in_families();
/// The built-in family of a name: R's, or that in small letters. Parameters are to be estimated.
[[nodiscard]] std::optional<Family> parse_family(std::string_view text);

/// A built-in family as R's users write it, in letters of any case: "poisson", "binomial(probit)",
/// "Gamma(link = log)", "nb(theta = 3)"; or "@FILE": a custom family. As in mgcv a theta above 0 is fixed,
/// and one below 0 is where the estimate begins, but for its sign. Throws `Error(usage)` for another name,
/// link or parameter, `Error(input)` if the file cannot be read or is not as `parse_custom_family` has it.
[[nodiscard]] Family chosen_family(const std::string& text);

}  // namespace tessera::gam
