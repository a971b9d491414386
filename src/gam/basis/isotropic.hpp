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

/// Isotropic smooths: radial functions of several variables. Matrices of values have a row for each point and
/// a column for each variable.
namespace TESSERA_NAMESPACE::gam {

/// Names of the radial functions in model files, in the order of `RadialKind`.
inline constexpr std::array radial_names{"r^p",        "r^p log r",  "spherical", "exponential",
                                         "matern 3/2", "matern 5/2", "matern 7/2"};

/// A number as text, like R's as.character() before R 4.3: at most fifteen significant digits.
[[nodiscard]] std::string text_in_r(double value);

/// R's mean: the sum divided by the count, plus the mean of the deviations from this quotient.
[[nodiscard]] double mean_of(std::span<const double> values);
[[nodiscard]] std::vector<double> means_of(const Matrix& values);

/// The distinct rows of `values`, in no particular order. If there are more than `most` rows and more than
/// `most` distinct ones, returns the sample of `most` points that mgcv draws with R's `seed`. In this case,
/// points of several variables are compared and sorted as texts after subtracting `means`, as in mgcv.
[[nodiscard]] Matrix distinct_points(const Matrix& values, std::span<const double> means, int most,
                                     std::uint32_t seed);

/// Exponents of the monomials below a degree, in mgcv's order: those of the first variable vary fastest.
[[nodiscard]] std::vector<std::vector<int>> polynomials_below(int degree, int variables);

/// Orthonormal columns Z with a'Z = 0, as in mgcv: the first columns of the Householder factor Q for which
/// a'Q is zero except for a triangle at its end. Elements of `a` of the size of rounding errors are set to
/// zero: with symmetric points, they would decide the sign of a reflection.
[[nodiscard]] Matrix null_columns(const Matrix& a);

/// Chooses the signs in `z` so that the first large value in each column of `values` is positive.
void fix_signs(Matrix& z, const Matrix& values);

/// Truncation of the symmetric matrix E of the radial functions at the points: weights U of the points,
/// values E U at the points, and penalty U'E U.
struct Truncated {
  Matrix weights, values, form;
};

/// U has the eigenvectors of E for the `size` eigenvalues of largest absolute value, or is the identity if
/// there are only `size` points. `multiply` and `starts`: see `extreme_eigen`.
[[nodiscard]] Truncated truncate(HostTeam& team, int points, int size, const SymmetricProduct& multiply,
                                 int starts);

/// Thin plate regression splines of any number of variables, and of any order with 2 order > variables, by
/// mgcv's construction. The radial columns come first, then the polynomials of degree below the order. All
/// columns except the constant have a mean square of one over `values`. Column signs may differ from mgcv's.
/// `size`: at most the number of points. Source: Wood, J. R. Statist. Soc. B 65 (2003), sec. 2.
///
/// Cost: that of `extreme_eigen` with points^2 operations per product, plus points times `size` per value, on
/// the threads of the team.
[[nodiscard]] Basis isotropic_thin_plate(HostTeam& team, const Matrix& values, const Matrix& points,
                                         std::span<const double> means, int order, int size);

/// Duchon splines by mgcv's construction, with a penalty on derivatives of this order, and the functions
/// r^power or r^power log r. Unlike thin plate splines, the columns are not scaled. Source: Wood, Generalized
/// Additive Models (2017), sec. 5.5.2.
[[nodiscard]] Basis duchon_spline(HostTeam& team, const Matrix& values, const Matrix& points,
                                  std::span<const double> means, int order, int power, int size);

/// Gaussian process smooths with a correlation function of scale 1 / range. Scale 0 stands for a range equal
/// to the largest distance between two points. Columns: eigenvectors, penalised by their eigenvalues; then
/// the constant and, unless `stationary`, the variables. Source: Kammann and Wand, Applied Statistics 52
/// (2003), 1.
[[nodiscard]] Basis gaussian_process(HostTeam& team, const Matrix& values, const Matrix& points,
                                     std::span<const double> means, RadialFunction function, bool stationary,
                                     int size);

/// Removes the null space of the penalty, and centres the other columns over the values.
[[nodiscard]] Basis without_null_space(Basis basis, const Matrix& values);

[[nodiscard]] Component isotropic_component(IsotropicColumns columns, const Matrix& map);

/// The first row.size() dense columns of a component at x, which has a value for each variable.
void evaluate_dense(const Component& component, std::span<const double> x, std::span<double> row);

}  // namespace TESSERA_NAMESPACE::gam
