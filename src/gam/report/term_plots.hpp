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

namespace TESSERA_NAMESPACE::gam {

/// The curves of one plot: one smooth, or all levels of its by factor.
struct CurvePanel {
  /// Partial residuals of a line, as in mgcv's plot.gam: the term's contribution to the predictor of a row,
  /// plus the row's weighted working residual.
  struct Points {
    std::vector<double> x;
    std::vector<double> y;
  };
  std::vector<std::string> key{};  ///< names of the lines, with edf for a by factor: "a, 4.23"
  std::string label;               ///< label of the smooth: "s(x)", "s(x):f"
  std::string title;
  std::string by;  ///< name of the numeric by variable; empty: none
  Curve curve;
  std::vector<Points> partial{};
  /// For binomial families: means of partial residuals in groups of rows with similar x, drawn instead of
  /// `partial`.
  std::vector<Points> means{};
  std::vector<double> rug{};  ///< x of the sampled rows; empty: unknown
};

/// The panel of the curve at `next`, and of the directly following curves of the same smooth at other levels
/// of its by factor. Advances `next` past the panel. `rows`: a sample of the rows, or null.
[[nodiscard]] CurvePanel panel_of(std::span<const Effect> effects, std::size_t& next,
                                  const FittedModel& model, const RowSample* rows);

/// The range of y over the curves, their bands, if drawn, and partial residuals or their means.
[[nodiscard]] Interval extent_of(const CurvePanel& panel);

/// The y axis for this range, with space below for `Plot::strip`.
[[nodiscard]] Interval axis_of(Interval curves);

/// The curves with their bands, above a rug or histogram of `panel.rug` or, if `panel.rug` is empty, of the
/// outline's counts. `y`: the y axis that several plots share; empty: the panel's own.
[[nodiscard]] std::string curve_svg(const CurvePanel& panel, const DataOutline& outline,
                                    std::optional<Interval> y);
[[nodiscard]] std::string curve_csv(const CurvePanel& panel);
[[nodiscard]] std::string partial_csv(const CurvePanel& panel);

/// Positions of rows, in the two variables of a surface.
struct Places {
  std::vector<double> x;
  std::vector<double> y;
};
/// Positions of the sampled rows; of a smooth by a factor, only rows at the effect's level.
[[nodiscard]] Places places_of(const Effect& effect, const Surface& surface, const RowSample& rows);
/// Centres of the outline's grid cells that contain a row, whatever its by level. Empty if the outline lacks
/// a variable.
[[nodiscard]] Places places_of(const Surface& surface, const DataOutline& outline);
/// Sets grid points to NaN that are farther than 0.1 from every place, in units of the ranges of x and y, as
/// mgcv's exclude.too.far does.
[[nodiscard]] Surface without_far(Surface surface, const Places& places);

struct SurfacePictures {
  std::string estimate;
  std::string standard_error;
};
/// `places`: rows to mark in the picture of the estimate; null: none.
[[nodiscard]] SurfacePictures surface_svg(const Effect& effect, const Surface& surface,
                                          const Places* places = nullptr);
[[nodiscard]] std::string surface_csv(const Surface& surface);

/// Levels are listed with intervals of two standard errors; those of a random effect are sorted by estimate.
/// A random effect with more than `max_listed` levels is drawn as a QQ plot, as in mgcv.
inline constexpr std::size_t max_listed = 40;
[[nodiscard]] std::string levels_svg(const Effect& effect, const Levels& levels);
[[nodiscard]] std::string levels_csv(const Levels& levels);

}  // namespace TESSERA_NAMESPACE::gam
