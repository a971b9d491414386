// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/model/data_outline.hpp"
#include "gam/report/effects.hpp"
#include "gam/report/ticks.hpp"

#include <optional>
#include <string>
#include <vector>

/// Pictures of a model's terms, as SVG.
namespace tessera::gam {

/// The least and largest value of the curve and its band of two standard errors; without a band where there
/// are several lines.
[[nodiscard]] Interval extent_of(const Curve& curve);

/// An axis for curves of that extent, with room for the strip below them.
[[nodiscard]] Interval axis_of(Interval curves);

/// The curve with its band, over the rows' places in its variable, where the outline has them. `y` is the
/// axis that several plots have in common.
[[nodiscard]] std::string curve_svg(const Effect& effect, const Curve& curve, const DataOutline& outline,
                                    std::optional<Interval> y);

/// Colours and contours of the estimate, and of its standard error.
struct SurfacePictures {
  std::string estimate;
  std::string standard_error;
};
[[nodiscard]] SurfacePictures surface_svg(const Effect& effect, const Surface& surface);

/// Up to `max_listed` levels: each with its interval of two standard errors, those of a random effect by
/// size. More levels of a random effect: against the quantiles of the normal distribution, as mgcv has them.
inline constexpr std::size_t max_listed = 40;
[[nodiscard]] std::string levels_svg(const Effect& effect, const Levels& levels);

}  // namespace tessera::gam
