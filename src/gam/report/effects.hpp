// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/model/model.hpp"
#include "gam/model/smooth_axes.hpp"

#include <tessera/gam/matrix.hpp>

#include <string>
#include <variant>
#include <vector>

/// The numbers of each term's plot, from its coefficients and their covariance only, as in mgcv's `plot.gam`
/// and `predict(type = "terms", se = TRUE)`.
namespace TESSERA_NAMESPACE::gam {

/// A smooth of one number; for te() of a number and a factor (a random effect), and for factor smooths, one
/// line per level, or a combination of levels.
struct Curve {
  struct Line {
    std::string level;  ///< "a", or "a : b" for several factors; empty for a single line
    std::vector<Estimate> values;
  };
  std::string variable;
  std::vector<double> x;
  std::vector<Line> lines;
};

/// A smooth of two numbers.
struct Surface {
  std::string x_variable;
  std::string y_variable;
  std::vector<double> x;
  std::vector<double> y;
  Matrix fit;  ///< x by y
  Matrix se;
};

/// One estimate per level: of a random effect, or of a factor, whose reference level is zero without error;
/// for an interaction one per combination.
struct Levels {
  std::vector<std::string> names;
  std::vector<Estimate> values;
  bool random = false;
};

/// A term that cannot be plotted here: of three or more variables.
struct NotDrawn {};

struct Effect {
  std::string label;  ///< "s(x):facL1", as in the summary
  std::string title;  ///< mgcv's axis label: "s(x,4.23):facL1"; for a factor its label
  std::string by;     ///< a numeric by variable, which multiplies the term; empty: none
  std::variant<Curve, Surface, Levels, NotDrawn> shape;
  std::string by_factor = {};  ///< for a smooth of one level of a factor: the factor, and
  std::string by_level = {};   ///< the level
  double edf = 0;              ///< effective degrees of freedom of a smooth
};

struct EffectOptions {
  int curve_points = 150;
  int surface_points = 60;  ///< per variable
};

/// The terms of a model in order, without the intercept and purely numeric parametric terms. A smooth by a
/// factor has one per level. Points are equally spaced over the data, or over the cells of the basis if the
/// model lacks the extent of the data. Pure. Cost: O(K^2) a point for K coefficients.
[[nodiscard]] std::vector<Effect> effects_of(const FittedModel& model, const EffectOptions& options = {});

}  // namespace TESSERA_NAMESPACE::gam
