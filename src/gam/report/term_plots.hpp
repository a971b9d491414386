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

/// The curves of one picture: those of a smooth, or of all levels of its by factor.
struct CurvePanel {
  /// Partial residuals of a line, as in mgcv's plot.gam: the term's contribution to the predictor of a row,
  /// plus the row's weighted working residual.
  struct Points {
    std::vector<double> x;
    std::vector<double> y;
  };
  std::vector<std::string> key{};  ///< names of coloured lines with their degrees of freedom: "a, 4.23"
  std::string label;               ///< label of the smooth: "s(x)", "s(x):f"
  std::string title;               ///< title of the y axis
  std::string by;                  ///< a numeric by variable; empty: none
  Curve curve;
  std::vector<Points> partial{};  ///< partial residuals of each line; empty: none
  /// For successes among trials, whose residuals lie on curves: the means of partial residuals in groups of
  /// rows with similar x, which are drawn in place of `partial`.
  std::vector<Points> means{};
  std::vector<double> rug{};  ///< values of the sampled rows; empty: unknown
};

/// The panel that begins with the curve at `next`. It includes the following curves of the same smooth for
/// other levels of its factor. Sets `next` to the effect after the panel. `rows`: a sample of the rows, or
/// null.
[[nodiscard]] CurvePanel panel_of(std::span<const Effect> effects, std::size_t& next,
                                  const FittedModel& model, const RowSample* rows);

/// The extent of the curves, of partial residuals or their means, and, if each curve has a band, of the bands
/// of two standard errors.
[[nodiscard]] Interval extent_of(const CurvePanel& panel);

/// An axis for curves of this extent, with space for the strip below them.
[[nodiscard]] Interval axis_of(Interval curves);

/// The curves with their bands, and below them the distribution of the rows: `panel.rug`, or the counts of
/// the outline if that is empty. `y`: the axis that several plots share.
[[nodiscard]] std::string curve_svg(const CurvePanel& panel, const DataOutline& outline,
                                    std::optional<Interval> y);
/// The numbers of the plot. `partial_csv`: those of its partial residuals; empty if it has none.
[[nodiscard]] std::string curve_csv(const CurvePanel& panel);
[[nodiscard]] std::string partial_csv(const CurvePanel& panel);

/// Positions of rows in the plane of a surface's variables.
struct Places {
  std::vector<double> x;
  std::vector<double> y;
};
/// Positions of the sampled rows of an effect; for a smooth by a factor, only rows with its level.
[[nodiscard]] Places places_of(const Effect& effect, const Surface& surface, const RowSample& rows);
/// The centres of the cells that contain a row, of any level; empty if the outline lacks the variables.
[[nodiscard]] Places places_of(const Surface& surface, const DataOutline& outline);
/// The surface with NaN at points that are too far from any row: the nearest row is farther than a tenth of
/// the range of the points, as with `too.far = 0.1` in mgcv's plot.gam (exclude.too.far).
[[nodiscard]] Surface without_far(Surface surface, const Places& places);

/// Two pictures with colours and contours: the estimate, and its standard error.
struct SurfacePictures {
  std::string estimate;
  std::string standard_error;
};
/// `places`: rows to mark in the picture of the estimate; null: none.
[[nodiscard]] SurfacePictures surface_svg(const Effect& effect, const Surface& surface,
                                          const Places* places = nullptr);
[[nodiscard]] std::string surface_csv(const Surface& surface);

/// Up to `max_listed` levels are listed with intervals of two standard errors; those of a random effect are
/// sorted by size. More levels of a random effect are drawn against normal quantiles, as in mgcv.
inline constexpr std::size_t max_listed = 40;
[[nodiscard]] std::string levels_svg(const Effect& effect, const Levels& levels);
[[nodiscard]] std::string levels_csv(const Levels& levels);

}  // namespace TESSERA_NAMESPACE::gam
