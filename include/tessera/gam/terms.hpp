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

/// The parts of a fitted model, with mgcv's names for them, as returned by `Model::terms` and related
/// members. They suffice to compute its model matrix anywhere.
///
/// A row of the model matrix has the columns of one term after the other. Those of a term are
///
///     x' = b r' M
///
/// where r, a column vector, is the Kronecker product of the columns of `Term::factors` in the row, the last
/// factor's index changing fastest, and 1 without factors; M is block diagonal, `copies` times `map`, or the
/// identity if `map` is empty; and b is the value of a numeric `by`; 1 if a factor `by` has the level
/// `by_level`, else 0; and 1 without a `by`.
namespace TESSERA_NAMESPACE::gam {

/// A single column: a number.
struct NumberColumn {
  std::string variable{};
};

/// A column for each level of a factor: 1 if the row has the level, else 0.
struct LevelColumns {
  std::string variable{};
  std::vector<std::string> levels{};
};

/// Columns that are piecewise cubics of a number x, four of which are nonzero in a row. In cell c, from
/// breaks[c] to breaks[c + 1], with t = (x - breaks[c]) / (breaks[c + 1] - breaks[c]), column c * stride + a
/// is sum_i cubics(4 a + i, c) t^i, for a and i from 0 to 3. Beyond the first and the last break, each
/// column continues as the straight line with its value and slope at that break; if `cyclic`, x is shifted
/// between the breaks by a multiple of their distance. There are (cells - 1) stride + 4 columns.
struct CubicColumns {
  std::string variable{};
  std::vector<double> breaks{};  ///< ascending, one more than cells
  bool cyclic = false;
  int stride = 1;
  Matrix cubics{};  ///< 16 x cells
};

/// Columns of radial functions of the distance to points, and polynomials: thin plate splines and related
/// bases. u is the vector of the variables, minus `shift` and divided by `unit`. Column c is
///
///     sum_j map(j, c) f(|u - points[j]|) + sum_i map(n + i, c) prod_v u[v]^powers[i][v]
///
/// over the n points j and the polynomials i. With e = scale r, f is by its name
/// "r^p" scale r^power, "r^p log r" scale r^power log r, "spherical" 1 - 1.5 e + 0.5 e^3 up to e = 1 and then
/// 0, "exponential" exp(-e^exponent), "matern 3/2" (1 + e) exp(-e), "matern 5/2" (1 + e + e^2 / 3) exp(-e),
/// "matern 7/2" (1 + e + 0.4 e^2 + e^3 / 15) exp(-e). For a thin plate spline of one variable the terms
/// cancel: sum them in long double to get the accuracy of predictions.
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

/// A range of the model's coefficients: a parametric term of R's expanded formula, or an element of mgcv's
/// `smooth`; a smooth by a factor is one element per level.
struct Term {
  std::string label{};  ///< "(Intercept)", "x:f", "s(x)", "s(x):fb", "te(x,z)"
  std::string basis{};  ///< "parametric"; the basis of s(); "te", "ti", "t2"
  /// For a smooth without `by`: mgcv's `term`. Expressions of columns, such as "log(x)" or "poly(x, 2)1".
  std::vector<std::string> variables{};
  std::string by{};           ///< empty: none
  std::string by_level{};     ///< level of `by`, if that is a factor
  int first_coefficient = 0;  ///< mgcv's `first.para` - 1
  int coefficients = 0;
  std::vector<TermFactor> factors{};
  Matrix map{};  ///< columns of the factors over `copies` x coefficients over `copies`; empty: the identity
  int copies = 1;
  /// The vector c, up to a factor, of the constraint c'b = 0 on the coefficients of the basis. `map` has
  /// absorbed it: b = Z times the remaining coefficients, Z the last columns of Q in the full QR
  /// decomposition of c, like mgcv's `qrc`. One element for each coefficient of the basis; empty: no
  /// constraint, or the margins have their own, as in ti().
  std::vector<double> constraint{};
  /// For ti(): the `constraint` of each margin, on the coefficients of the margin's basis; empty for a
  /// margin without one.
  std::vector<std::vector<double>> margin_constraints{};
  /// For t2() and bs = "fs": the natural parametrisation of each margin, which `map` has absorbed: the
  /// coefficients of the margin's basis x its natural ones, mgcv's `P`. No rows: a margin without one, such
  /// as the levels of a factor smooth.
  std::vector<Matrix> margin_natural{};
  /// Columns of X Z, from 0 on, that `map` leaves out because earlier smooths determine them: mgcv's
  /// `del.index` - 1.
  std::vector<int> dropped{};
  /// Number of further unpenalised functions that `map` leaves out since other terms determine them.
  int undetermined = 0;
  std::vector<std::vector<double>> knots{};  ///< knots of each variable; empty for a basis without knots
  int penalties = 0;                         ///< number of the smooth's penalties in `Model::penalties`
  int null_space = 0;                        ///< dimension of the unpenalised space: mgcv's `null.space.dim`
  double edf = 0;                            ///< effective degrees of freedom
};

/// A penalty lambda b'Sb on a term's coefficients b, with lambda in the units of S.
struct TermPenalty {
  std::string label{};             ///< mgcv's name of its smoothing parameter: "s(x)", "te(x,z)1"
  int term = 0;                    ///< index of the term
  Matrix matrix{};                 ///< S, coefficients x coefficients; empty if it is diagonal
  std::vector<double> diagonal{};  ///< diagonal of S, if it is diagonal
  double scale = 1;                ///< mgcv's `S.scale`: S times this has the units of the basis
  int rank = 0;                    ///< rank of S
  double lambda = 0;               ///< an element of `full.sp`
  int parameter = -1;              ///< index among the estimated smoothing parameters; -1: it is given
  double least = 0;                ///< added to the smoothing parameter: mgcv's `min.sp`
};

/// An estimated smoothing parameter, an element of mgcv's `sp`. Penalties of smooths with the same `id` share
/// it.
struct SmoothingParameter {
  std::string label{};  ///< label of the parameter's first penalty
  double value = 0;     ///< lambda of that penalty, minus `least`
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

/// A variable of the model, or a column from which its variables are computed.
struct ModelVariable {
  std::string name{};
  bool factor = false;
  bool ordered = false;               ///< whether it is R's ordered factor
  std::vector<std::string> levels{};  ///< levels of a factor: R's `xlevels`
  /// "contr.treatment" or "contr.poly" for a factor that a parametric term codes by contrasts.
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

/// Rows of the table of a fit, stored on request (`FitOptions::sample`), with the columns that the formula
/// and the options read.
struct SampledRows {
  struct Column {
    std::string name{};
    std::vector<double> values{};       ///< values, or for a factor indices of its levels; NaN: missing
    std::vector<std::string> levels{};  ///< levels of a factor
  };
  std::vector<std::int64_t> rows{};  ///< row numbers in the table of the sampled rows, from 0, ascending
  std::vector<Column> columns{};
};

/// Options of a fit for its smooths, as given: see `FitOptions`.
struct SmoothingOptions {
  bool select = false;
  std::vector<double> sp{};
  std::vector<double> min_sp{};
  std::map<std::string, std::vector<double>> knots{};
};

/// Statistics of an expression over all rows of the fit. Which statistics these are depends on the
/// expression's text. "poly(x, 3)": alpha, then norm2 from its second element on, as in `attr(, "coefs")` of
/// R, with
///
///     z[0] = 1,  z[j + 1] = (x - alpha[j]) z[j] - norm2[j] / norm2[j - 1] z[j - 1],
///     poly(x, 3)j = z[j] / sqrt(norm2[j])
///
/// without the term of z[-1]. "ns(x, …)" and "bs(x, …)": the boundary knots and the interior knots; if knots
/// are given, only the boundary knots. "scale(x)": the mean, the standard deviation, and the root of the sum
/// of squares over n - 1. "cut(x, 5)": minimum and maximum. "factor(round(x))": the values.
struct MeasuredExpression {
  std::string text{};
  std::vector<double> values{};
};

}  // namespace TESSERA_NAMESPACE::gam
