// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/matrix.hpp>
#include <tessera/version.hpp>

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <variant>
#include <vector>

/// The parts of a fitted model, as returned by `Model::terms` and related members, with their names in mgcv.
/// They suffice to compute the model matrix of new rows.
///
/// A row of the model matrix consists of the columns of each term, one term after the other. The columns of a
/// term are
///
///     x' = b r' M
///
/// - r is a column vector, the Kronecker product of the columns of each of `Term::factors` in the row (the
///   index of the last factor changes fastest); 1 without factors;
/// - M is block diagonal with `copies` blocks `map`; the identity if `map` is empty;
/// - b is the value of a numeric `by`; for a factor `by`, 1 if it has the level `by_level`, else 0; 1 without
///   a `by`.
namespace TESSERA_NAMESPACE::gam {

/// A single column: the value of a numeric variable.
struct NumberColumn {
  std::string variable{};
};

/// A column for each level of a factor: 1 if the row has the level, else 0.
struct LevelColumns {
  std::string variable{};
  std::vector<std::string> levels{};
};

/// Columns that are piecewise cubic polynomials of a numeric variable x; in each row at most four are
/// nonzero. In cell c, from breaks[c] to breaks[c + 1], with t = (x - breaks[c]) / (breaks[c + 1] -
/// breaks[c]), column c * stride + a is sum_i cubics(4 a + i, c) t^i, for a and i from 0 to 3. Beyond the
/// first and the last break, each column is extrapolated linearly. If `cyclic`, x is instead shifted into the
/// range of the breaks by a multiple of the range. There are (cells - 1) stride + 4 columns.
struct CubicColumns {
  std::string variable{};
  std::vector<double> breaks{};  ///< ascending, one more than cells
  bool cyclic = false;
  int stride = 1;
  Matrix cubics{};  ///< 16 x cells
};

/// Columns of radial functions of the distance to points, and polynomials: thin plate splines and related
/// bases. u is the vector of the variables minus `shift`, divided by `unit`. Column c is
///
///     sum_j map(j, c) f(|u - points[j]|) + sum_i map(n + i, c) prod_v u[v]^powers[i][v]
///
/// over the n points j and the polynomials i. For a thin plate spline of one variable the terms of the sum
/// cancel: sum them in long double for the accuracy of the library's predictions. `function` is the name of
/// f(r), where e = scale r:
/// - "r^p": scale r^power
/// - "r^p log r": scale r^power log r
/// - "spherical": 1 - 1.5 e + 0.5 e^3 up to e = 1, then 0
/// - "exponential": exp(-e^exponent)
/// - "matern 3/2": (1 + e) exp(-e)
/// - "matern 5/2": (1 + e + e^2 / 3) exp(-e)
/// - "matern 7/2": (1 + e + 0.4 e^2 + e^3 / 15) exp(-e)
struct RadialFunctions {
  std::vector<std::string> variables{};
  std::string function{};
  int power = 3;
  double scale = 1;
  double exponent = 1;
  Matrix points{};              ///< n x variables, in units of u: mgcv's Xu if `unit` is 1
  std::vector<double> shift{};  ///< mgcv's shift of each variable
  double unit = 1;
  std::vector<std::vector<int>> powers{};  ///< powers of the variables in each polynomial
  Matrix map{};                            ///< (n + polynomials) x columns: mgcv's UZ, except for signs
};

using TermFactor = std::variant<NumberColumn, LevelColumns, CubicColumns, RadialFunctions>;

/// A parametric term of R's expanded formula, or an element of mgcv's `smooth`, with a contiguous range of
/// the model's coefficients. A smooth by a factor is one element per level.
struct Term {
  std::string label{};  ///< "(Intercept)", "x:f", "s(x)", "s(x):fb", "te(x,z)"
  std::string basis{};  ///< "parametric"; for s() the basis, such as "tp"; else "te", "ti" or "t2"
  /// Variables of the term, excluding `by`: mgcv's `term`. They may be expressions, such as "log(x)" or
  /// "poly(x, 2)1".
  std::vector<std::string> variables{};
  std::string by{};           ///< empty: none
  std::string by_level{};     ///< level of a factor `by`
  int first_coefficient = 0;  ///< mgcv's `first.para` - 1
  int coefficients = 0;
  std::vector<TermFactor> factors{};
  Matrix map{};  ///< (columns of the factors / `copies`) x (coefficients / `copies`); empty: the identity
  int copies = 1;
  /// The vector c, up to a factor, of the constraint c'b = 0 on the coefficients b of the basis, with one
  /// element for each. `map` includes the reparametrisation: b = Z times the remaining coefficients, where Z
  /// has the last columns of Q in the full QR decomposition of c, like mgcv's `qrc`. Empty: no constraint, or
  /// constraints of the margins, as in ti().
  std::vector<double> constraint{};
  /// For ti(): the `constraint` of each margin, on the coefficients of the margin's basis; empty for a margin
  /// without constraint.
  std::vector<std::vector<double>> margin_constraints{};
  /// For t2() and bs = "fs": the matrix of each margin's natural parametrisation, mgcv's `P`, which `map`
  /// includes: coefficients of the margin's basis x natural coefficients. 0 rows for a margin without one,
  /// such as the levels of a factor smooth.
  std::vector<Matrix> margin_natural{};
  /// Indices, from 0, of columns of X Z that `map` drops because they are linearly dependent on earlier
  /// smooths: mgcv's `del.index` - 1.
  std::vector<int> dropped{};
  /// Number of further unpenalised functions that `map` drops because they are linearly dependent on other
  /// terms.
  int undetermined = 0;
  std::vector<std::vector<double>> knots{};  ///< knots of each variable; empty for a basis without knots
  int penalties = 0;                         ///< number of the smooth's penalties in `Model::penalties`
  int null_space = 0;                        ///< dimension of the unpenalised space: mgcv's `null.space.dim`
  double edf = 0;                            ///< effective degrees of freedom
};

/// A penalty lambda b'Sb on a term's coefficients b, with lambda in the units of S.
struct TermPenalty {
  std::string label{};             ///< name of the smoothing parameter in mgcv: "s(x)", "te(x,z)1"
  int term = 0;                    ///< index of the term in `Model::terms`
  Matrix matrix{};                 ///< S, coefficients x coefficients; empty if it is diagonal
  std::vector<double> diagonal{};  ///< diagonal of S, if it is diagonal
  double scale = 1;                ///< mgcv's `S.scale`: S times this has the units of the basis
  int rank = 0;                    ///< rank of S
  double lambda = 0;               ///< the smoothing parameter: an element of mgcv's `full.sp`
  int parameter = -1;              ///< index among the estimated smoothing parameters; -1: lambda is given
  double least = 0;                ///< added to the smoothing parameter: mgcv's `min.sp`
};

/// An estimated smoothing parameter, an element of mgcv's `sp`. Smooths with the same `id` share their
/// smoothing parameters.
struct SmoothingParameter {
  std::string label{};  ///< label of the first penalty with this parameter
  double value = 0;     ///< `lambda` minus `least` of this penalty
};

/// A row of the summary's parametric table.
struct CoefficientTest {
  std::string name{};
  double estimate = 0;
  double standard_error = 0;
  double statistic = 0;  ///< t if the scale is estimated, else z
  double p_value = 0;
};

/// A row of the summary's smooth table.
struct SmoothTest {
  std::string label{};
  double edf = 0;
  double reference_df = 0;
  double statistic = 0;  ///< F if the scale is estimated, else chi-squared; NaN, like the p-value: not tested
  double p_value = 0;
};

/// The tests of R's `summary.gam`.
struct TermTests {
  std::vector<CoefficientTest> coefficients{};  ///< tests of the parametric terms' coefficients, in order
  std::vector<SmoothTest> smooths{};            ///< tests of the smooths, in order
};

/// A variable of the model, or a column from which a variable is computed.
struct ModelVariable {
  std::string name{};
  bool factor = false;
  bool ordered = false;               ///< whether it is R's ordered factor
  std::vector<std::string> levels{};  ///< levels of a factor: R's `xlevels`
  /// "contr.treatment" or "contr.poly" for a factor that a parametric term codes by contrasts; else empty.
  std::string contrasts{};
  /// mgcv's `var.summary`: minimum, median and maximum of a numeric variable; the most frequent level of a
  /// factor. Both are empty if the model was fitted without `FitOptions::residuals`.
  std::vector<double> summary{};
  std::string most_frequent{};
  /// Mean of a numeric variable over the rows of the fit; NaN if not stored, or in a model of an earlier
  /// version.
  double mean = std::numeric_limits<double>::quiet_NaN();
};

struct ModelResponse {
  std::string name{};  ///< as in the formula: "y", "log(y)"; empty in a model of an earlier version
  /// "number", "factor", "counts": cbind(successes, failures), or "limits": cbind(y, limit) of a censored
  /// family.
  std::string type{};
  std::vector<std::string> levels{};  ///< levels of a factor: failure and success
};

/// Rows of the fit's table that are stored in the model (`FitOptions::sample`), with the columns that the
/// formula and the options read.
struct SampledRows {
  struct Column {
    std::string name{};
    std::vector<double> values{};       ///< values, or for a factor indices of its levels; NaN: missing
    std::vector<std::string> levels{};  ///< levels of a factor
  };
  std::vector<std::int64_t> rows{};  ///< numbers of these rows in the table, from 0, ascending
  std::vector<Column> columns{};
};

/// Options of a fit for its smooths: see `FitOptions`.
struct SmoothingOptions {
  bool select = false;
  std::vector<double> sp{};
  std::vector<double> min_sp{};
  std::map<std::string, std::vector<double>> knots{};
};

/// Statistics over all rows of the fit that an expression needs for new rows. "poly(x, 3)": alpha, then norm2
/// from its second element on, as in `attr(, "coefs")` of R, with
///
///     z[0] = 1,  z[j + 1] = (x - alpha[j]) z[j] - norm2[j] / norm2[j - 1] z[j - 1],
///     poly(x, 3)j = z[j] / sqrt(norm2[j])
///
/// where the term of z[-1] is 0. "ns(x, …)" and "bs(x, …)": the boundary knots and the interior knots; if
/// knots are given, only the boundary knots. "scale(x)": the mean, the standard deviation, and the square
/// root of the sum of squares divided by n - 1. "cut(x, 5)": minimum and maximum. "factor(round(x))": the
/// distinct values.
struct MeasuredExpression {
  std::string text{};
  std::vector<double> values{};
};

}  // namespace TESSERA_NAMESPACE::gam
