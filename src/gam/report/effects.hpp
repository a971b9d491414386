// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/model/model.hpp"
#include "gam/model/smooth_axes.hpp"

#include <tessera/gam/matrix.hpp>

#include <string>
#include <variant>
#include <vector>

/// Estimates and standard errors of each term for its plot, as in mgcv's `plot.gam` and `predict(type =
/// "terms", se = TRUE)`.
namespace TESSERA_NAMESPACE::gam {

/// A smooth of one numeric variable. Factor smooths, and te() of a numeric variable and a factor, have a line
/// per level or combination of levels.
struct Curve {
  struct Line {
    std::string level;  ///< "a", or "a : b" for several factors; empty for a single line
    std::vector<Estimate> values;
  };
  std::string variable;
  std::vector<double> x;
  std::vector<Line> lines;
};

struct Surface {
  std::string x_variable;
  std::string y_variable;
  std::vector<double> x;
  std::vector<double> y;
  Matrix fit;  ///< the effect, with a row for each x and a column for each y
  Matrix se;
};

/// One estimate per level of a random effect or factor, or per combination of levels of an interaction. The
/// reference level of a factor has fit 0 and standard error 0.
struct Levels {
  std::vector<std::string> names;
  std::vector<Estimate> values;
  bool random = false;
};

/// A term that cannot be plotted: it has three or more variables.
struct NotDrawn {};

struct Effect {
  std::string label;  ///< "s(x):facL1", as in the summary
  std::string title;  ///< mgcv's axis label: "s(x,4.23):facL1"; for a parametric term `label`
  std::string by;     ///< name of the numeric by variable; empty: none
  std::variant<Curve, Surface, Levels, NotDrawn> shape;
  std::string by_factor = {};  ///< name of the by factor; empty: none
  std::string by_level = {};   ///< level of `by_factor`
  double edf = 0;
};

struct EffectOptions {
  int curve_points = 150;
  int surface_points = 60;  ///< per variable
};

/// The effects of a model's terms, in order, without the intercept and purely numeric parametric terms. A
/// smooth by a factor has one effect per level. Points are equally spaced over the range of the data or, if
/// the model does not store it, of the basis. Cost: O(K^2) per point for K coefficients.
[[nodiscard]] std::vector<Effect> effects_of(const FittedModel& model, const EffectOptions& options = {});

}  // namespace TESSERA_NAMESPACE::gam
