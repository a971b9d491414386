// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/family_function.hpp"
#include "gam/family/parts.hpp"

#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace TESSERA_NAMESPACE::gam {

/// A user-defined family: the functions of one row that PIRLS needs.
///
///     # inverse-gaussian.toml
///     name = "inverse.gaussian"
///     link = "1/mu^2"                        # a name for reports; may be left out
///     scale = "estimated"                    # or "known": 1 by definition; may be left out
///     inverse_link = "1/sqrt(eta)"           # the mean
///     derivative = "-0.5 * eta^-1.5"         # of the mean, by eta
///     variance = "mu^3"
///     deviance = "(y - mu)^2 / (y * mu^2)"   # of one row with prior weight 1
///
/// Expressions have the syntax and functions of model formulas, such as pnorm and pmax. The fit starts at the
/// constant predictor whose mean is the mean response. A row whose weight or deviance is not finite stops the
/// fit.
struct CustomFamily {
  static constexpr bool linear = false;
  static constexpr Start start = Start::mean;
  static constexpr Limits limits{};
  static constexpr bool two_levels = false;
  static constexpr char residuals[] = " Those of this family need not be close to normal.";

  std::string name;
  std::string link_name;
  bool scale_is_known = false;
  FamilyFunction inverse_link;   ///< a function of eta
  FamilyFunction derivative;     ///< a function of eta
  FamilyFunction variance;       ///< a function of mu
  FamilyFunction unit_deviance;  ///< a function of y and mu

  [[nodiscard]] double mean(double eta) const { return inverse_link(eta); }
  [[nodiscard]] double weight(double prior, double mu, double slope) const {
    return prior * slope * slope / variance(mu);
  }
  [[nodiscard]] double deviance(double y, double mu, double prior) const {
    return prior * unit_deviance(y, mu);
  }
  static const char* response_fault(double /*y*/) { return nullptr; }
  static double aic_scale(double /*deviance*/, double /*rows*/, double /*scale*/) { return 1; }
  /// NaN: the density of a custom family is unknown.
  static double minus_two_log_likelihood(double /*y*/, double /*mu*/, double /*weight*/, double /*scale*/) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  static bool likelihood_rounds(double /*y*/, double /*weight*/) { return false; }

  friend bool operator==(const CustomFamily&, const CustomFamily&) = default;
};
static_assert(RowFamily<CustomFamily>);

/// Parses a TOML file. Throws `Error(usage)` with `origin`, the line and advice if the text is not TOML, if a
/// key is missing, unknown or not a string, or if an expression is invalid.
[[nodiscard]] CustomFamily parse_custom_family(std::string_view toml, const std::string& origin);
/// TOML text that `parse_custom_family` parses to an equal family; stored in model files.
[[nodiscard]] std::string to_toml(const CustomFamily& family);

/// The eta of a mean, by bisection to full precision; empty if no |eta| up to 1e6 has this mean. The inverse
/// link must be monotone where it is finite.
[[nodiscard]] std::optional<double> predictor_of(const CustomFamily& family, double mean);

/// CUDA C++ source of a `RowFamily` named `OwnFamily`.
[[nodiscard]] std::string family_device_source(const CustomFamily& family);

}  // namespace TESSERA_NAMESPACE::gam
