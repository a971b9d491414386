// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/basis.hpp"
#include "gam/design/design.hpp"

#include <tessera/gam/matrix.hpp>

#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A smooth before its constraint: the row-wise Kronecker product of its margins.
struct SmoothBasis {
  Matrix map;                     ///< raw x K, the last margin fastest
  std::vector<Matrix> penalties;  ///< one a margin, K x K, divided by `s_scale`
  Matrix eigenvalues;             ///< rank x penalties: see `Penalty`
  Matrix eigenvectors;            ///< K x rank, of several margins: see `Penalty`
  std::vector<int> set_ranks;     ///< of several penalties of one margin: see `Penalty`
  Matrix levels;                  ///< of level deviations: see `Penalty`
  Matrix of_level;
  int rank_of_level = 0;
  Matrix null_space;                       ///< K x dimension, orthonormal: what no penalty sees
  std::vector<double> s_scale;             ///< mgcv's S.scale
  std::vector<std::vector<double>> knots;  ///< of each variable
  /// E, if a margin has `Basis::points`: the coefficients that mgcv has, of those that there are. Eigenvalues
  /// are in mgcv's.
  Matrix values;
  double log_det_values = 0;               ///< log|det E|
  std::vector<double> constant;            ///< the coefficients of the function that is one
  std::vector<std::string> penalty_names;  ///< see `CoefBlock`
  double ridge = 0;                        ///< of a random effect, without map and penalties: see `Penalty`
  int copies = 0;  ///< of a factor smooth, its levels: `map` is that of one, and there are no `penalties`
};

/// Combines the margins of a smooth. With `tensor` each margin's penalty is first divided by its largest
/// eigenvalue, as te() does. `largest_row_sum` is the largest sum of |X| over a row of the data: a penalty is
/// divided by its largest column sum over the square of that, so that smoothing parameters are comparable.
/// Source: Wood, Biometrics 62 (2006), sec. 3; mgcv's smoothCon for the scaling.
[[nodiscard]] SmoothBasis combine(std::span<const Basis> margins, bool tensor, double largest_row_sum);

/// A random effect of `size` coefficients, made of some margins: the penalty of any of them is all.
[[nodiscard]] SmoothBasis random_effect(std::size_t margins, int size, double largest_row_sum);

/// A factor smooth of so many levels, with a natural basis (natural_basis.hpp) for the curves: a penalty for
/// what is penalised of all curves, and one for each function that is not.
[[nodiscard]] SmoothBasis factor_smooth(const Basis& curve, int levels, double largest_row_sum);

/// t2(): the products of the margins' penalised and unpenalised spaces, in mgcv's order, with a penalty for
/// each but that of the unpenalised ones, which is last. The margins are natural (`natural_margin`). `full`:
/// a function without a penalty is a space by itself beside penalised ones. `orders`: of the products that
/// there are, the numbers of penalised margins; empty: all. Throws `Error(input)` if nothing is penalised,
/// or if there are more penalties than can be estimated; `label` is the smooth's. Source: Wood, Scheipl and
/// Faraway, Statistics and Computing 23 (2013), 341.
[[nodiscard]] SmoothBasis combine_by_spaces(std::span<const Basis> margins, bool full,
                                            std::span<const int> orders, double largest_row_sum,
                                            const std::string& label);

/// Curves for all combinations of the levels of some factors, the last factor fastest. With `sum_to_zero`
/// they add up to zero over the levels of each factor, and those of its last level are minus the others' sum.
/// A combination has a penalty of its own; with `one_penalty` they share one.
[[nodiscard]] SmoothBasis level_deviations(const Basis& curve, std::span<const int> levels, bool sum_to_zero,
                                           bool one_penalty, double largest_row_sum);

/// The sum-to-zero constraint c'b = 0 absorbed into a basis.
struct Constraint {
  Matrix z;                     ///< K x K - 1, orthonormal, c'z = 0: the last columns of Q in the QR of c
  double log_det_constant = 0;  ///< what `Penalty::log_det_constant` becomes
  Matrix null_space;  ///< K x (dimension - 1): what no penalty sees and the constraint leaves, orthonormal
};

/// `means` are the K column means of X; `values` is that of the basis, with its log|det|, or empty. Throws
/// `Error(input)` if the means are all zero.
[[nodiscard]] Constraint sum_to_zero(std::span<const double> means, const Matrix& null_space,
                                     const Matrix& values = {}, double log_det_values = 0);

/// A margin under the constraint that it sums to zero over the rows, `means` being those of its columns.
[[nodiscard]] Basis centred_margin(Basis margin, std::span<const double> means);

/// Takes the function that is one, whose coefficients are `constant`, out of what penalties see that together
/// see all functions: each becomes its least value over all constants that are added, so that a constraint
/// makes no difference to a fit. Their null space is then `constant`. Several have no common eigenvectors.
void free_constant(Penalty& penalty, std::span<const double> constant);

/// What is known of penalties that together see all functions, once a constraint has taken one from them.
void restrict_to_constraint(Penalty& penalty);

/// mgcv's coefficients of a smooth whose columns are centred and column `left_out` is left out, as bam has
/// it: a row for each, by the coefficients that there are. `coefficients` are those that all columns have,
/// under whatever constraint, and `constant` those of the function that is one.
[[nodiscard]] Matrix sweep_and_drop(const Matrix& coefficients, std::span<const double> constant,
                                    int left_out);

/// Adds the penalty of select=TRUE: the squared length of the part of mgcv's coefficients, `coefficients` by
/// those that there are, in the null space of the other penalties. Nothing is left without a penalty.
/// Source: Marra and Wood, Computational Statistics and Data Analysis 55 (2011), sec. 2.1.
void penalise_null_space(Penalty& penalty, const Matrix& coefficients);

/// `Penalty::eigenvectors` of the basis under the constraint: each is moved along the null space, where no
/// penalty sees it, until the constraint holds. Empty if there are none, or the null space does not move it.
[[nodiscard]] Matrix constrained_eigenvectors(const Matrix& eigenvectors, std::span<const double> means,
                                              const Matrix& null_space, const Matrix& z);

}  // namespace TESSERA_NAMESPACE::gam
