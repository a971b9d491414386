// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/basis.hpp"

#include <tessera/job/host_team.hpp>

#include <cstdint>
#include <span>
#include <vector>

/// Thin plate regression splines of one variable with mgcv's construction.
/// Source: Wood, J. R. Statist. Soc. B 65 (2003), sec. 2; Generalized Additive Models (2017), sec. 5.5.
namespace TESSERA_NAMESPACE::gam {

/// The spline of `size` coefficients (at most the number of points) with a penalty on second derivatives.
/// First come the radial columns, from the eigenvectors for the eigenvalues of largest absolute value; then
/// the constant and x. All columns except the constant have a mean square of one over `values`. Column signs
/// may differ from mgcv's.
///
/// Cost: that of `extreme_eigen` with products of O(points) operations, plus O(points size^2 + values size).
[[nodiscard]] Basis thin_plate_basis(HostTeam& team, std::span<const double> values,
                                     std::span<const double> points, int size);

/// Converts radial columns to a dense component with a margin. Cost: O(points) per column.
[[nodiscard]] Component radial_component(RadialColumns radial);

/// Rounds up to a multiple of four, at least eight, because products process dense columns in fours.
[[nodiscard]] constexpr int dense_columns(int count) {
  return count <= 8 ? 8 : (count + 3) / 4 * 4;
}

}  // namespace TESSERA_NAMESPACE::gam
