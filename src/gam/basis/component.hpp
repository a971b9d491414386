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

/// A piecewise cubic basis of one variable: in each cell four consecutive raw columns are nonzero.
///
/// In cell c, with t = (x - breaks[c]) / (breaks[c + 1] - breaks[c]), the values at raw columns `c * stride +
/// 0 … 3` are v_a(t) = sum_i cells[c][4 a + i] t^i. Outside the breaks every v_a continues linearly (with
/// value and slope at the end); a cyclic margin instead wraps x into the range of the breaks. B-splines have
/// stride 1. cr and cc have stride 2: the four raw columns are value and second derivative at knot c, then at
/// knot c + 1.
struct Margin {
  std::vector<double> breaks;  ///< increasing, one more than cells
  bool uniform = false;        ///< whether breaks are equally spaced: the cell is then found by one division
  bool cyclic = false;
  int stride = 1;
  std::vector<std::array<double, 16>> cells;
  [[nodiscard]] int cell_count() const noexcept { return static_cast<int>(cells.size()); }
  [[nodiscard]] int raw_size() const noexcept { return (cell_count() - 1) * stride + 4; }
};

/// A standardised variable of a numeric component: (x - centre) * factor.
struct NumericPart {
  int variable = 0;  ///< index in the frame, and in `Design::variables`
  double centre = 0;
  double factor = 1;
};

/// Columns of radial functions of x. With u = (x - shift) / unit, and u_j for point j, column c is sum_j
/// map(j, c) |u - u_j|^3 / 12 + map(n, c) + map(n + 1, c) u. The weights make each column a cubic between
/// neighbouring points, and linear outside.
struct RadialColumns {
  std::vector<double> points;  ///< in increasing order
  double shift = 0;
  double unit = 1;  ///< a power of two
  Matrix map;       ///< (n + 2) x columns: the weights of the points, then constant and slope
  friend bool operator==(const RadialColumns&, const RadialColumns&) = default;
};

/// Columns that combine radial functions of several variables with polynomials. Let u be the vector of the
/// variables minus their shifts, and w the component's `combinations`. Column c is sum_j w(j, c) function(|u
/// - point j|) + sum_i w(n + i, c) prod(u^powers[i]).
struct IsotropicColumns {
  RadialFunction function;
  Matrix points;  ///< n x variables, minus their shifts
  std::vector<double> shift;
  std::vector<std::vector<int>> powers;
  std::shared_ptr<const FarField> far_field{};  ///< fast evaluation; null: columns are evaluated directly
};

/// A raw term is the row-wise Kronecker product of its components.
struct Component {
  /// Determines the number of raw columns: see `raw_size`.
  using Kind = ComponentKind;
  Kind kind = Kind::numeric;
  int variable = 0;           ///< index in the frame, and in `Design::variables`
  std::vector<int> others{};  ///< the other variables of an isotropic smooth
  int levels = 0;
  bool districts = false;  ///< whether the levels are districts (bs="mrf")
  Margin margin;
  /// Weights of the margin's columns, or of the functions of `isotropic`, in each dense column; padded with
  /// zero columns: see `dense_columns`.
  Matrix combinations;
  std::optional<RadialColumns> radial;  ///< functions from which the dense columns of `margin` were computed
  std::optional<IsotropicColumns> isotropic;
  /// A numeric component is the sum of these parts; empty: the variable itself. Parts let a fit centre and
  /// scale its numeric columns before any product is summed (see standardise.hpp).
  std::vector<NumericPart> parts;
  /// Minimum and maximum of a spline's variable over the complete rows of the job. Set only in a fit.
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
  /// Whether the component has a margin, and so is a function of one numeric variable.
  [[nodiscard]] bool is_curve() const noexcept {
    return kind == Kind::spline || (kind == Kind::dense && !isotropic);
  }
  /// Calls `use` with a reference to each variable of the component, which `use` may change.
  template <class Self, class Use>
  static void for_each_variable(Self& self, const Use& use) {
    use(self.variable);
    for (auto& other : self.others) use(other);
    for (auto& part : self.parts) use(part.variable);
  }
};

}  // namespace TESSERA_NAMESPACE::gam
