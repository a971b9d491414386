// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/report/figures.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

/// Residual plots, as in mgcv's `gam.check`. `kind` is "deviance", "standardised" or "quantile"; `scale` is
/// the model's scale. Residuals must be finite, and at least two.
namespace TESSERA_NAMESPACE::gam {

/// A QQ plot against normal quantiles, with a line of slope sqrt(scale) and a pointwise 95 % band.
[[nodiscard]] Picture residual_qq_plot(std::string_view kind, std::span<const double> residuals,
                                       double scale);
[[nodiscard]] Picture residual_histogram(std::string_view kind, std::span<const double> residuals);
/// Residuals, and means of groups of rows, against `values`, named `what` on the axis and `column` in CSV.
/// The band is two standard errors of a group mean around the overall mean.
[[nodiscard]] Picture residual_scatter(std::string_view kind, const std::string& what,
                                       const std::string& column, std::span<const double> values,
                                       std::span<const double> residuals);
/// Box plots of residuals by level; the level of row i is `levels[codes[i]]`. Whiskers reach to the last
/// residuals within 1.5 interquartile ranges. At most `max_boxes` levels are shown: those whose means are
/// farthest from the overall mean, in standard errors.
inline constexpr std::size_t max_boxes = 40;
[[nodiscard]] Picture residual_boxes(std::string_view kind, const std::string& factor,
                                     std::span<const std::string> levels, std::span<const double> codes,
                                     std::span<const double> residuals);
/// Responses against fitted means, with the line of equality and the means of groups of rows.
[[nodiscard]] Picture observed_scatter(std::span<const double> fitted, std::span<const double> observed);
/// Autocorrelation of the residuals of `rows` rows at lags 1, 2, …, with the 95 % limits of independent
/// residuals.
[[nodiscard]] Picture residual_autocorrelation(std::string_view kind, std::span<const double> autocorrelation,
                                               std::int64_t rows);

}  // namespace TESSERA_NAMESPACE::gam
