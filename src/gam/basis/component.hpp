// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/component_kind.hpp"

#include <array>
#include <vector>

namespace tessera::gam {

/// A piecewise cubic basis of one variable: in each cell four consecutive raw values are not zero.
///
/// In cell c, with t = (x - breaks[c]) / (breaks[c + 1] - breaks[c]), the values at raw columns
/// `c * stride + 0 … 3` are v_a(t) = sum_i cells[c][4 a + i] t^i. Outside the breaks every v_a goes on
/// linearly (value and slope at the end); a cyclic margin wraps x into the breaks instead.
/// B-splines have stride 1. cr and cc have stride 2: value and second derivative at knot c, then at c + 1.
struct Margin {
  std::vector<double> breaks;  ///< cells + 1, increasing
  bool uniform = false;        ///< equally spaced: the cell is found by one division
  bool cyclic = false;
  int stride = 1;
  std::vector<std::array<double, 16>> cells;
  [[nodiscard]] int cell_count() const noexcept { return static_cast<int>(cells.size()); }
  [[nodiscard]] int raw_size() const noexcept { return (cell_count() - 1) * stride + 4; }
};

/// One variable's part in a numeric component: (x - centre) * factor.
struct NumericPart {
  int variable = 0;  ///< index into the Frame, and into `Design::variables`
  double centre = 0;
  double factor = 1;
};

/// One factor of a raw term.
struct Component {
  /// `levels` raw columns for a factor, `margin.raw_size()` for a spline.
  using Kind = ComponentKind;
  Kind kind = Kind::numeric;
  int variable = 0;  ///< index into the Frame, and into `Design::variables`
  int levels = 0;
  Margin margin;
  /// What a numeric component is the sum of; empty: the variable itself. A fit centres and scales its numeric
  /// columns in this way before any product is summed (see standardise.hpp).
  std::vector<NumericPart> parts;
  /// The least and the largest value of a spline's variable in the complete rows of the job. Of the fit's own
  /// design alone: model.json has it as the outline.
  std::array<double, 2> extent{};
  [[nodiscard]] int raw_size() const noexcept {
    return kind == Kind::numeric ? 1 : kind == Kind::factor ? levels : margin.raw_size();
  }
  [[nodiscard]] int nonzeros() const noexcept { return kind == Kind::spline ? 4 : 1; }
  /// Calls `use(variable)` for the variables that it is computed from, by a reference that may change them.
  template <class Self, class Use>
  static void for_each_variable(Self& self, const Use& use) {
    use(self.variable);
    for (auto& part : self.parts) use(part.variable);
  }
};

}  // namespace tessera::gam
