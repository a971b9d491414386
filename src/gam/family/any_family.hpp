// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/custom_family.hpp"
#include "gam/family/family.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tessera::gam {

/// The family of a fit: one of mgcv's, or the user's own.
struct AnyFamily {
  AnyFamily() = default;
  AnyFamily(Family built_in) : kind(built_in) {}  // NOLINT(google-explicit-constructor): it is one
  explicit AnyFamily(CustomFamily own)
      : kind(Family::custom), custom(std::make_shared<const CustomFamily>(std::move(own))) {}

  [[nodiscard]] std::string_view name() const { return custom ? custom->name : family_name(kind); }
  [[nodiscard]] std::string_view link_text() const { return custom ? custom->link : link_name(kind); }
  /// True where phi is 1 by definition.
  [[nodiscard]] bool scale_is_known() const {
    return custom ? custom->scale_is_known : gam::scale_is_known(kind);
  }
  [[nodiscard]] double mean(double eta) const {
    return custom ? custom->inverse_link(eta) : inverse_link(kind, eta);
  }
  /// Of the mean, by eta.
  [[nodiscard]] double derivative(double eta) const {
    return custom ? custom->derivative(eta) : mean_derivative(kind, eta);
  }
  /// The predictor whose mean is `mean`; nothing if a family of the user's own does not reach it.
  [[nodiscard]] std::optional<double> predictor(double mean) const {
    return custom ? predictor_of(*custom, mean) : std::optional(link(kind, mean));
  }

  Family kind = Family::gaussian;
  std::shared_ptr<const CustomFamily> custom;  ///< the functions, where `kind` is `Family::custom`
};

/// "poisson" as `parse_family` knows it, or "@FILE": a family of the user's own. Throws `Error(usage)` for
/// another name, `Error(input)` if the file cannot be read or is not as `parse_custom_family` has it.
[[nodiscard]] AnyFamily chosen_family(const std::string& text);

}  // namespace tessera::gam
