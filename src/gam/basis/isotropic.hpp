// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/basis.hpp"
#include "gam/linalg/lanczos.hpp"

#include <tessera/gam/matrix.hpp>
#include <tessera/job/host_team.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// Isotropic smooths: radial functions of several variables. A matrix of values has a row for each point and
/// a column for each variable.
namespace TESSERA_NAMESPACE::gam {

/// Names of the radial functions in model files, by `RadialKind`.
inline constexpr std::array radial_names{"r^p",        "r^p log r",  "spherical", "exponential",
                                         "matern 3/2", "matern 5/2", "matern 7/2"};

/// R's as.character() of a number, before R 4.3: fifteen significant digits at most.
[[nodiscard]] std::string text_in_r(double value);

/// The mean as R computes it: with one correction by the mean of the differences.
[[nodiscard]] double mean_of(std::span<const double> values);
[[nodiscard]] std::vector<double> means_of(const Matrix& values);

/// The distinct points, in no meaningful order: all of them, or a sample of `most` that mgcv draws with R's
/// `seed` if both the values and the distinct ones are more. mgcv compares and sorts points of several
/// variables as texts, of their values less `means`.
[[nodiscard]] Matrix distinct_points(const Matrix& values, std::span<const double> means, int most,
                                     std::uint32_t seed);

/// Powers of the variables in each polynomial below a degree, in mgcv's order: the first variable's vary
/// fastest.
[[nodiscard]] std::vector<std::vector<int>> polynomials_below(int degree, int variables);

/// Orthonormal columns Z with a' Z = 0, as in mgcv: the first columns of the Householder factor Q that makes
/// a' Q lower triangular at its end. For symmetric points an element of pure rounding would decide the sign
/// of a reflection, as it does in mgcv: here it is set to zero.
[[nodiscard]] Matrix null_columns(const Matrix& a);

/// Fixes the sign of each function by its values at the points.
void fix_signs(Matrix& z, const Matrix& values);

/// Truncated functions of a spline, E being the symmetric matrix of radial functions: weights U of the
/// points, values E U there, and the penalty U'E U.
struct Truncated {
  Matrix weights, values, form;
};

/// U: the eigenvectors of E for the `size` eigenvalues of largest absolute value; the identity for as many
/// points. `multiply` and `starts`: see `extreme_eigen`.
[[nodiscard]] Truncated truncate(HostTeam& team, int points, int size, const SymmetricProduct& multiply,
                                 int starts);

/// Thin plate regression splines of any number of variables and order, 2 order > variables, with mgcv's
/// construction. Columns: the radial ones, then the polynomials below the order; all but the constant have a
/// mean square of one over `values`. Column signs are Tessera's. `size`: at most the number of points.
/// Source: Wood, J. R. Statist. Soc. B 65 (2003), sec. 2.
///
/// Cost: that of `extreme_eigen` with points^2 a product, plus points times `size` for each value, on the
/// threads of the team.
[[nodiscard]] Basis isotropic_thin_plate(HostTeam& team, const Matrix& values, const Matrix& points,
                                         std::span<const double> means, int order, int size);

/// Duchon splines with derivatives of an order as penalty and r^power, or r^power log r, as functions, with
/// mgcv's construction: as thin plate splines, except for column scales. Source: Wood, Generalized Additive
/// Models (2017), sec. 5.5.2.
[[nodiscard]] Basis duchon_spline(HostTeam& team, const Matrix& values, const Matrix& points,
                                  std::span<const double> means, int order, int power, int size);

/// Gaussian process smooths with a correlation function of scale 1 / range; scale 0 sets the range to the
/// largest distance between two points. Columns: eigenvectors, with the eigenvalues as penalty, then the
/// constant and, unless `stationary`, the variables. Source: Kammann and Wand, Applied Statistics 52 (2003),
/// 1.
[[nodiscard]] Basis gaussian_process(HostTeam& team, const Matrix& values, const Matrix& points,
                                     std::span<const double> means, RadialFunction function, bool stationary,
                                     int size);

/// Removes the penalty's null space from a basis of dense columns; the other columns are centred over the
/// values.
[[nodiscard]] Basis without_null_space(Basis basis, const Matrix& values);

/// The component that evaluates isotropic columns, with the weights in `map`.
[[nodiscard]] Component isotropic_component(IsotropicColumns columns, const Matrix& map);

/// The dense columns of a component at a point, which has a value for each variable. `row`: as many columns
/// as are requested.
void evaluate_dense(const Component& component, std::span<const double> x, std::span<double> row);

}  // namespace TESSERA_NAMESPACE::gam
