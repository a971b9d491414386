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

/// The family of a fit: one of the list, each with mgcv's default link (the Gamma with log), or a custom one.
/// parts.hpp says what each part is; visit.hpp gives it as its own type.
class Family {
 public:
  Family() = default;  ///< the first of the list
  template <BuiltInFamily F>
  Family(F /*family*/) : index_(index_of(F::name)) {}  // NOLINT(google-explicit-constructor): it is one
  explicit Family(CustomFamily family) : custom_(std::make_shared<const CustomFamily>(std::move(family))) {}

  /// Null for a built-in family.
  [[nodiscard]] const CustomFamily* custom() const { return custom_.get(); }
  /// In the list, where the family is built in.
  [[nodiscard]] int index() const { return index_; }

  [[nodiscard]] std::string_view name() const;
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
  /// The predictor of a mean; nothing if a custom family does not reach it.
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

  /// CUDA C++ that defines `family`, an object with the parts of a `RowFamily`. It includes list.hpp.
  [[nodiscard]] std::string device_source() const;

 private:
  static int index_of(std::string_view name);

  int index_ = 0;
  std::shared_ptr<const CustomFamily> custom_;
};

/// The list.
[[nodiscard]] std::vector<Family> built_in_families();
/// The built-in family of a name: R's, or that in small letters.
[[nodiscard]] std::optional<Family> parse_family(std::string_view text);

/// A built-in family as R's users write it, in letters of any case: "poisson", "binomial()", "Gamma(link =
/// log)"; or "@FILE": a custom family. Throws `Error(usage)` for another name or link, `Error(input)` if the
/// file cannot be read or is not as `parse_custom_family` has it.
[[nodiscard]] Family chosen_family(const std::string& text);

}  // namespace tessera::gam
