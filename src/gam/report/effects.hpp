// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/model/model.hpp"
#include "gam/model/smooth_axes.hpp"

#include <tessera/gam/matrix.hpp>

#include <string>
#include <variant>
#include <vector>

/// The numbers in the plot of each term. They depend only on the term's coefficients and their covariance, as
/// in mgcv's `plot.gam` and `predict(type = "terms", se = TRUE)`.
namespace TESSERA_NAMESPACE::gam {

/// A smooth of one numeric variable. For te() of a number and a factor (as a random effect), and for factor
/// smooths, it has a line per level, or per combination of levels.
struct Curve {
  struct Line {
    std::string level;  ///< "a", or "a : b" for several factors; empty for a single line
    std::vector<Estimate> values;
  };
  std::string variable;
  std::vector<double> x;
  std::vector<Line> lines;
};

/// A smooth of two numeric variables.
struct Surface {
  std::string x_variable;
  std::string y_variable;
  std::vector<double> x;
  std::vector<double> y;
  Matrix fit;  ///< the effect, with a row for each x and a column for each y
  Matrix se;
};

/// One estimate per level of a random effect or factor, or per combination of levels of an interaction. The
/// reference level of a factor is zero, without error.
struct Levels {
  std::vector<std::string> names;
  std::vector<Estimate> values;
  bool random = false;
};

/// A term that cannot be plotted: it has three or more variables.
struct NotDrawn {};

struct Effect {
  std::string label;  ///< "s(x):facL1", as in the summary
  std::string title;  ///< mgcv's axis label: "s(x,4.23):facL1"; for a factor its label
  std::string by;     ///< a numeric by variable, which multiplies the term; empty: none
  std::variant<Curve, Surface, Levels, NotDrawn> shape;
  std::string by_factor = {};  ///< factor of a smooth by a factor at one level
  std::string by_level = {};   ///< level of that factor
  double edf = 0;              ///< effective degrees of freedom of a smooth
};

struct EffectOptions {
  int curve_points = 150;
  int surface_points = 60;  ///< points per variable of a surface
};

/// The effects of a model's terms, in order, without the intercept and purely numeric parametric terms. A
/// smooth by a factor has one effect per level. Points are equally spaced over the range of the data; if the
/// model lacks that range, over the cells of the basis. Pure. Cost: O(K^2) per point for K coefficients.
[[nodiscard]] std::vector<Effect> effects_of(const FittedModel& model, const EffectOptions& options = {});

}  // namespace TESSERA_NAMESPACE::gam
