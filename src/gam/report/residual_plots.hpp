// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

/// Pictures of the residuals of a sample, as SVG: what mgcv's `gam.check` shows. `kind` is "deviance" or
/// "standardised", `scale` the model's. At least two residuals, all finite.
namespace tessera::gam {

/// Sorted residuals against normal quantiles, with the line that residuals of a normal response would follow.
[[nodiscard]] std::string residual_quantiles_svg(std::string_view kind, std::span<const double> residuals,
                                                 double scale);
/// Their histogram.
[[nodiscard]] std::string residual_histogram_svg(std::string_view kind, std::span<const double> residuals);
/// Each against its row's linear predictor.
[[nodiscard]] std::string residual_scatter_svg(std::string_view kind,
                                               std::span<const double> linear_predictor,
                                               std::span<const double> residuals);
/// Autocorrelation of the residuals at lags from 1 on, of `rows` rows, with the limits that 95 % of those of
/// independent residuals are within.
[[nodiscard]] std::string autocorrelation_svg(std::string_view kind, std::span<const double> autocorrelation,
                                              std::int64_t rows);

}  // namespace tessera::gam
