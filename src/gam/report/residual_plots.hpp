// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

/// Pictures of the deviance residuals of a sample, as SVG: what mgcv's `gam.check` shows. `scale` is the
/// model's. At least two residuals, all finite.
namespace tessera::gam {

/// Sorted residuals against normal quantiles, with the line that residuals of a normal response would follow.
[[nodiscard]] std::string residual_quantiles_svg(std::span<const double> residuals, double scale);
/// Their histogram.
[[nodiscard]] std::string residual_histogram_svg(std::span<const double> residuals);
/// Each against its row's linear predictor.
[[nodiscard]] std::string residual_scatter_svg(std::span<const double> linear_predictor,
                                               std::span<const double> residuals);

}  // namespace tessera::gam
