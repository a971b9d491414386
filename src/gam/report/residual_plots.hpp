// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/report/figures.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

/// Plots, as SVG, of the residuals of a sample, as in mgcv's `gam.check`. `kind` is "deviance",
/// "standardised" or "quantile"; `scale` is the model's scale. There must be at least two residuals, all
/// finite.
namespace TESSERA_NAMESPACE::gam {

/// A QQ plot: sorted residuals against normal quantiles, with the line for normal responses, and a band that
/// contains each residual with probability 95 %.
[[nodiscard]] Picture residual_qq_plot(std::string_view kind, std::span<const double> residuals,
                                       double scale);
[[nodiscard]] Picture residual_histogram(std::string_view kind, std::span<const double> residuals);
/// Residuals against a numeric variable of their rows, named `what` on the axis and `column` in CSV. Also
/// shows the means of groups of rows, and the band that contains 95 % of these means if residuals do not
/// depend on the variable: two standard errors on either side of the overall mean.
[[nodiscard]] Picture residual_scatter(std::string_view kind, const std::string& what,
                                       const std::string& column, std::span<const double> values,
                                       std::span<const double> residuals);
/// Residuals by the levels of a factor; a row's level is `levels[codes[i]]`. Each level has a box of the
/// quartiles, whiskers to the last residuals within 1.5 times the length of the box, and the mean. At most
/// `max_boxes` levels are shown: those whose means are farthest from the overall mean, in standard errors.
inline constexpr std::size_t max_boxes = 40;
[[nodiscard]] Picture residual_boxes(std::string_view kind, const std::string& factor,
                                     std::span<const std::string> levels, std::span<const double> codes,
                                     std::span<const double> residuals);
/// Responses against fitted means, with the line of equality and the means of groups of rows.
[[nodiscard]] Picture observed_scatter(std::span<const double> fitted, std::span<const double> observed);
/// Autocorrelation of the residuals at lags 1, 2, …, for `rows` rows, with limits that contain 95 % of the
/// autocorrelations of independent residuals.
[[nodiscard]] Picture residual_autocorrelation(std::string_view kind, std::span<const double> autocorrelation,
                                               std::int64_t rows);

}  // namespace TESSERA_NAMESPACE::gam
