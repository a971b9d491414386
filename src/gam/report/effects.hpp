// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/model/model.hpp"
#include "gam/model/smooth_axes.hpp"

#include <tessera/gam/matrix.hpp>

#include <string>
#include <variant>
#include <vector>

/// The numbers of each term's plot: what its coefficients and their covariance alone make of it, as mgcv's
/// `plot.gam` and `predict(type = "terms", se = TRUE)` have them.
namespace TESSERA_NAMESPACE::gam {

/// A smooth of one number; for te() of a number and a factor (a random effect), and for factor smooths, one
/// line a level, or a combination of levels.
struct Curve {
  struct Line {
    std::string level;  ///< "a", or "a : b" of several factors; empty if there is one line
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

/// One estimate a level: of a random effect, or of a factor, where the level that the others are compared
/// with is zero without error. An interaction has one a combination.
struct Levels {
  std::vector<std::string> names;
  std::vector<Estimate> values;
  bool random = false;
};

/// A term that no plot here can show: of three or more variables.
struct NotDrawn {};

struct Effect {
  std::string label;  ///< "s(x):facL1", as in the summary
  std::string title;  ///< mgcv's label of the axis: "s(x,4.23):facL1"; that of a factor is its label
  std::string by;     ///< a by variable that is a number, and multiplies the term; empty: none
  std::variant<Curve, Surface, Levels, NotDrawn> shape;
  std::string by_factor = {};  ///< of a smooth for one level of a factor: that factor, and
  std::string by_level = {};   ///< the level
  double edf = 0;              ///< of a smooth
};

struct EffectOptions {
  int curve_points = 150;
  int surface_points = 60;  ///< of each variable
};

/// The terms of a model in its own order, without the intercept and the parametric terms of numbers alone. A
/// smooth with a by factor has one a level. Points are equally spaced over the data; over the cells of its
/// basis where the model does not hold the extent of the data. Pure. Cost: O(K^2) a point of K coefficients.
[[nodiscard]] std::vector<Effect> effects_of(const FittedModel& model, const EffectOptions& options = {});

}  // namespace TESSERA_NAMESPACE::gam
