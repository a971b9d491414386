// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/row_sample.hpp"
#include "gam/model/data_outline.hpp"
#include "gam/report/effects.hpp"
#include "gam/report/ticks.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// Pictures of a model's terms, as SVG.
namespace TESSERA_NAMESPACE::gam {

/// The curves of one picture: of a smooth, or of all levels of the factor that it is by.
struct CurvePanel {
  /// Partial residuals of a line: what the term adds to the predictor of a row, plus the row's weighted
  /// working residual, as in mgcv's plot.gam.
  struct Points {
    std::vector<double> x;
    std::vector<double> y;
  };
  std::vector<std::string> key{};  ///< of lines that have colours: "a, 4.23", with the degrees of freedom
  std::string label;               ///< "s(x)", "s(x):f"
  std::string title;               ///< of the axis
  std::string by;                  ///< a by variable that is a number; empty: none
  Curve curve;
  std::vector<Points> partial{};  ///< one a line; empty: there are none
  /// Of successes among trials, whose residuals lie on curves: means of partial residuals in groups of rows
  /// of similar x, which are drawn instead.
  std::vector<Points> means{};
  std::vector<double> rug{};  ///< where sampled rows lie; empty: not known
};

/// The panel that begins with an effect, which is a curve; further effects that are curves of the same smooth
/// for other levels of its factor are added to it, and `next` is behind the last of them. `rows`: a sample of
/// the rows, or null.
[[nodiscard]] CurvePanel panel_of(std::span<const Effect> effects, std::size_t& next,
                                  const FittedModel& model, const RowSample* rows);

/// The least and largest value of the curves, their bands of two standard errors if each has a colour, and
/// partial residuals or their means.
[[nodiscard]] Interval extent_of(const CurvePanel& panel);

/// An axis for curves of that extent, with room for the strip below them.
[[nodiscard]] Interval axis_of(Interval curves);

/// The curves with their bands, over the rows' places in their variable: those of `panel.rug`, or else the
/// counts of the outline, where it has them. `y` is the axis that several plots have in common.
[[nodiscard]] std::string curve_svg(const CurvePanel& panel, const DataOutline& outline,
                                    std::optional<Interval> y);
/// Its numbers, and those of its partial residuals; without a row where there are none.
[[nodiscard]] std::string curve_csv(const CurvePanel& panel);
[[nodiscard]] std::string partial_csv(const CurvePanel& panel);

/// Where rows lie in the variables of a surface.
struct Places {
  std::vector<double> x;
  std::vector<double> y;
};
/// Those of a sample that the effect is of: of its level, if it is by a factor.
[[nodiscard]] Places places_of(const Effect& effect, const Surface& surface, const RowSample& rows);
/// The middles of the cells that hold rows, of any level; none where the outline has not the variables.
[[nodiscard]] Places places_of(const Surface& surface, const DataOutline& outline);
/// The surface with NaN at points from which the nearest place is farther than a tenth of the extent of the
/// points: `too.far = 0.1` of mgcv's plot.gam (exclude.too.far).
[[nodiscard]] Surface without_far(Surface surface, const Places& places);

/// Colours and contours of the estimate, and of its standard error.
struct SurfacePictures {
  std::string estimate;
  std::string standard_error;
};
/// `places`: marks on the estimate; null: none.
[[nodiscard]] SurfacePictures surface_svg(const Effect& effect, const Surface& surface,
                                          const Places* places = nullptr);
[[nodiscard]] std::string surface_csv(const Surface& surface);

/// Up to `max_listed` levels: each with its interval of two standard errors, those of a random effect by
/// size. More levels of a random effect: against the quantiles of the normal distribution, as mgcv has them.
inline constexpr std::size_t max_listed = 40;
[[nodiscard]] std::string levels_svg(const Effect& effect, const Levels& levels);
[[nodiscard]] std::string levels_csv(const Levels& levels);

}  // namespace TESSERA_NAMESPACE::gam
