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

/// Smooths of several variables from functions of the distance to points. A matrix of values has a row for
/// each point and a column for each variable.
namespace TESSERA_NAMESPACE::gam {

/// Of the functions in models, by `RadialKind`.
inline constexpr std::array radial_names{"r^p",        "r^p log r",  "spherical", "exponential",
                                         "matern 3/2", "matern 5/2", "matern 7/2"};

/// R's as.character() of a number, before R 4.3: fifteen significant digits at most.
[[nodiscard]] std::string text_in_r(double value);

/// As R has it: the mean, corrected by that of the differences from it.
[[nodiscard]] double mean_of(std::span<const double> values);
[[nodiscard]] std::vector<double> means_of(const Matrix& values);

/// Those that differ, in no order that means anything: all, or as many of them as mgcv draws with R's `seed`
/// if there are more values and more distinct ones than `most`. mgcv tells and sorts points of several
/// variables as texts, of their values less `means`.
[[nodiscard]] Matrix distinct_points(const Matrix& values, std::span<const double> means, int most,
                                     std::uint32_t seed);

/// Powers of the variables in each polynomial below a degree, as mgcv orders them: the first variable's vary
/// fastest.
[[nodiscard]] std::vector<std::vector<int>> polynomials_below(int degree, int variables);

/// Orthonormal columns Z with a' Z = 0, those of mgcv: the first of the Householder factor Q that makes a' Q
/// lower triangular at its end. Where points are symmetric, an element that is rounding alone would tell the
/// sign of a reflection, as it does in mgcv: it is zero here.
[[nodiscard]] Matrix null_columns(const Matrix& a);

/// Makes the sign of each function ours, by its values at the points.
void fix_signs(Matrix& z, const Matrix& values);

/// Functions of which a spline is made, E being the symmetric matrix of radial functions: weights U of the
/// points, values E U there, and the penalty U'E U.
struct Truncated {
  Matrix weights, values, form;
};

/// With the eigenvectors of E for the `size` eigenvalues that are largest in absolute value as weights; with
/// the points as they are where these are as many. `multiply` and `starts`: see `extreme_eigen`.
[[nodiscard]] Truncated truncate(HostTeam& team, int points, int size, const SymmetricProduct& multiply,
                                 int starts);

/// Thin plate regression splines of any number of variables and order, 2 order > variables, with mgcv's
/// construction. First the radial columns, then the polynomials below the order; but for the constant they
/// have a mean square of one over `values`. The sign of a column is ours. `size`: at most as many as points.
/// Source: Wood, J. R. Statist. Soc. B 65 (2003), sec. 2.
///
/// Cost: that of `extreme_eigen` with points^2 a product, and points times `size` for each of the values, on
/// the threads of the team.
[[nodiscard]] Basis isotropic_thin_plate(HostTeam& team, const Matrix& values, const Matrix& points,
                                         std::span<const double> means, int order, int size);

/// Duchon splines with derivatives of an order as penalty and r^power, or r^power log r, as functions, with
/// mgcv's construction: as thin plate splines, but for the sizes of the columns. Source: Wood, Generalized
/// Additive Models (2017), sec. 5.5.2.
[[nodiscard]] Basis duchon_spline(HostTeam& team, const Matrix& values, const Matrix& points,
                                  std::span<const double> means, int order, int power, int size);

/// Gaussian process smooths with a correlation function, whose scale is 1 / range; 0: the range is the
/// largest distance of two points. Columns are its eigenvectors with the eigenvalues as penalty, then the
/// constant and, unless it is `stationary`, the variables. Source: Kammann and Wand, Applied Statistics 52
/// (2003), 1.
[[nodiscard]] Basis gaussian_process(HostTeam& team, const Matrix& values, const Matrix& points,
                                     std::span<const double> means, RadialFunction function, bool stationary,
                                     int size);

/// A basis of dense columns without what its penalty does not see; the other columns are centred over the
/// values.
[[nodiscard]] Basis without_null_space(Basis basis, const Matrix& values);

/// The dense component of these columns.
[[nodiscard]] Component isotropic_component(IsotropicColumns columns, const Matrix& map);

/// The dense columns of a component at a point: one value for each of its variables. `row`: as many columns
/// as are wanted.
void evaluate_dense(const Component& component, std::span<const double> x, std::span<double> row);

}  // namespace TESSERA_NAMESPACE::gam
