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

/// The curves of one picture: of a smooth, or of all levels of its by factor.
struct CurvePanel {
  /// Partial residuals of a line: the term's contribution to the predictor of a row, plus the row's weighted
  /// working residual, as in mgcv's plot.gam.
  struct Points {
    std::vector<double> x;
    std::vector<double> y;
  };
  std::vector<std::string> key{};  ///< names of coloured lines: "a, 4.23", with the degrees of freedom
  std::string label;               ///< "s(x)", "s(x):f"
  std::string title;               ///< title of the y axis
  std::string by;                  ///< a numeric by variable; empty: none
  Curve curve;
  std::vector<Points> partial{};  ///< one per line; empty: none
  /// For successes among trials, whose residuals lie on curves: means of partial residuals in groups of rows
  /// of similar x, drawn instead.
  std::vector<Points> means{};
  std::vector<double> rug{};  ///< positions of sampled rows; empty: unknown
};

/// The panel that starts with an effect that is a curve; subsequent curves of the same smooth for other
/// levels of its factor are added, and `next` is one past the last of them. `rows`: a sample of the rows, or
/// null.
[[nodiscard]] CurvePanel panel_of(std::span<const Effect> effects, std::size_t& next,
                                  const FittedModel& model, const RowSample* rows);

/// The extent of the curves, of their bands of two standard errors if each has a colour, and of partial
/// residuals or their means.
[[nodiscard]] Interval extent_of(const CurvePanel& panel);

/// An axis for curves of that extent, with room for the strip below them.
[[nodiscard]] Interval axis_of(Interval curves);

/// The curves with their bands, above the rows' positions in their variable: `panel.rug`, or else the counts
/// of the outline, if it has them. `y` is the axis shared by several plots.
[[nodiscard]] std::string curve_svg(const CurvePanel& panel, const DataOutline& outline,
                                    std::optional<Interval> y);
/// The numbers of the plot and of its partial residuals; empty without partial residuals.
[[nodiscard]] std::string curve_csv(const CurvePanel& panel);
[[nodiscard]] std::string partial_csv(const CurvePanel& panel);

/// Positions of rows in the variables of a surface.
struct Places {
  std::vector<double> x;
  std::vector<double> y;
};
/// Positions of the sampled rows of an effect: of its level, for a smooth by a factor.
[[nodiscard]] Places places_of(const Effect& effect, const Surface& surface, const RowSample& rows);
/// The centres of cells with rows, of any level; none if the outline lacks the variables.
[[nodiscard]] Places places_of(const Surface& surface, const DataOutline& outline);
/// The surface with NaN at points whose nearest row is farther than a tenth of the extent of the points:
/// `too.far = 0.1` of mgcv's plot.gam (exclude.too.far).
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
/// size. More levels of a random effect: against normal quantiles, as in mgcv.
inline constexpr std::size_t max_listed = 40;
[[nodiscard]] std::string levels_svg(const Effect& effect, const Levels& levels);
[[nodiscard]] std::string levels_csv(const Levels& levels);

}  // namespace TESSERA_NAMESPACE::gam
