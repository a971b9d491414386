// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/report/figures.hpp"

#include <cstdint>
#include <span>
#include <string_view>

/// Pictures of the residuals of a sample, as SVG: what mgcv's `gam.check` shows. `kind` is "deviance",
/// "standardised" or "quantile", `scale` the model's. At least two residuals, all finite.
namespace tessera::gam {

/// Sorted residuals against normal quantiles, with the line that residuals of a normal response would follow,
/// and the band that each is in with a probability of 95 %.
[[nodiscard]] Picture residual_quantiles(std::string_view kind, std::span<const double> residuals,
                                         double scale);
/// Their histogram.
[[nodiscard]] Picture residual_histogram(std::string_view kind, std::span<const double> residuals);
/// Each against its row's linear predictor.
[[nodiscard]] Picture residual_scatter(std::string_view kind, std::span<const double> linear_predictor,
                                       std::span<const double> residuals);
/// Autocorrelation of the residuals at lags from 1 on, of `rows` rows, with the limits that 95 % of those of
/// independent residuals are within.
[[nodiscard]] Picture residual_autocorrelation(std::string_view kind, std::span<const double> autocorrelation,
                                               std::int64_t rows);

}  // namespace tessera::gam
