// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/component_kind.hpp"
#include "gam/basis/radial.hpp"

#include <tessera/gam/matrix.hpp>

#include <array>
#include <memory>
#include <optional>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

class FarField;

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

/// Columns of radial functions of x: with u = (x - shift) / unit and u_j that of point j, column c is
/// sum_j map(j, c) |u - u_j|^3 / 12 + map(n, c) + map(n + 1, c) u. The weights of the n points make each
/// column a cubic between neighbouring points, and a line outside.
struct RadialColumns {
  std::vector<double> points;  ///< increasing
  double shift = 0;
  double unit = 1;  ///< a power of two
  Matrix map;       ///< n + 2 x columns
  friend bool operator==(const RadialColumns&, const RadialColumns&) = default;
};

/// Columns of functions of the distance to points, and polynomials. With u the variables less their shifts,
/// column c is sum_j w(j, c) function(|u - point j|) + sum_i w(n + i, c) times the polynomial whose powers of
/// u are powers[i], w being the component's `combinations`.
struct IsotropicColumns {
  RadialFunction function;
  Matrix points;  ///< n x variables, less the shifts
  std::vector<double> shift;
  std::vector<std::vector<int>> powers;
  std::shared_ptr<const FarField>
      far_field{};  ///< evaluates them faster; null: they are evaluated as they are
};

/// One factor of a raw term.
struct Component {
  /// `levels` raw columns for a factor, `margin.raw_size()` for a spline, as many as `combinations` has for
  /// dense ones.
  using Kind = ComponentKind;
  Kind kind = Kind::numeric;
  int variable = 0;           ///< index into the Frame, and into `Design::variables`
  std::vector<int> others{};  ///< of an isotropic smooth, its variables beside that
  int levels = 0;
  Margin margin;
  /// Of dense columns, by the columns of the margin, or as `isotropic` says: a multiple of four, those at the
  /// end being zero.
  Matrix combinations;
  std::optional<RadialColumns> radial;  ///< what the dense columns are that have a margin
  std::optional<IsotropicColumns> isotropic;
  /// What a numeric component is the sum of; empty: the variable itself. A fit centres and scales its numeric
  /// columns in this way before any product is summed (see standardise.hpp).
  std::vector<NumericPart> parts;
  /// The least and the largest value of a spline's variable in the complete rows of the job. Of the fit's own
  /// design alone: model.json has it as the outline.
  std::array<double, 2> extent{};
  [[nodiscard]] int raw_size() const noexcept {
    switch (kind) {
      case Kind::factor: return levels;
      case Kind::spline: return margin.raw_size();
      case Kind::dense: return combinations.cols();
      default: return 1;
    }
  }
  [[nodiscard]] int nonzeros() const noexcept {
    return kind == Kind::dense ? combinations.cols() : kind == Kind::spline ? 4 : 1;
  }
  /// A function of one number that has a margin.
  [[nodiscard]] bool is_curve() const noexcept {
    return kind == Kind::spline || (kind == Kind::dense && !isotropic);
  }
  /// Calls `use(variable)` for the variables that it is computed from, by a reference that may change them.
  template <class Self, class Use>
  static void for_each_variable(Self& self, const Use& use) {
    use(self.variable);
    for (auto& other : self.others) use(other);
    for (auto& part : self.parts) use(part.variable);
  }
};

}  // namespace TESSERA_NAMESPACE::gam
