// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/family_of_row.hpp"

#include <optional>
#include <string_view>

/// The exponential families of the fit, each with mgcv's default link (the Gamma with log). What they
/// are to one row is in family_of_row.hpp.
namespace tessera::gam {

[[nodiscard]] std::optional<Family> parse_family(std::string_view text);
[[nodiscard]] std::string_view family_name(Family family);
[[nodiscard]] std::string_view link_name(Family family);
/// True where phi is 1 by definition (binomial, poisson).
[[nodiscard]] bool scale_is_known(Family family);
/// Why `y` cannot be a response of the family ("must be between 0 and 1"); nothing if it can.
[[nodiscard]] std::optional<std::string_view> response_fault(Family family, double y);
/// aic's -2 log-likelihood part for one row at the given scale, as R's family()$aic adds it up. mgcv's
/// bam()$aic is the sum over the rows at `aic_scale`, plus 2 where the scale is estimated, plus twice the
/// total edf. Infinite for a poisson count that is not whole, as in R; 0 for a row without weight; NaN for a
/// custom family, whose density is not known.
[[nodiscard]] double minus_two_log_likelihood(Family family, double y, double mu, double weight,
                                              double scale);
/// Whether that is of other numbers than those of the deviance: a binomial row whose successes or trials R
/// rounds, so that its likelihood is not the saturated model's less its deviance.
[[nodiscard]] bool likelihood_rounds(Family family, double y, double weight);
/// The scale at which aic takes the likelihood: deviance / n (gaussian), the fit's own (Gamma), or 1.
[[nodiscard]] double aic_scale(Family family, double deviance, double rows, double scale);
/// Link of the mean, and its inverse's derivative for standard errors on the response scale.
[[nodiscard]] double link(Family family, double mu);

}  // namespace tessera::gam
