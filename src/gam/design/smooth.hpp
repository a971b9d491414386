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
  std::vector<Matrix> penalties;  ///< penalty of each margin, K x K, divided by `s_scale`
  Matrix eigenvalues;             ///< rank x penalties: see `Penalty`
  Matrix eigenvectors;            ///< K x rank, for several margins: see `Penalty`
  std::vector<int> set_ranks;     ///< for several penalties of one margin: see `Penalty`
  Matrix levels;                  ///< for level deviations: see `Penalty`
  Matrix of_level;
  int rank_of_level = 0;
  Matrix null_space;                       ///< K x dimension, orthonormal: the unpenalised functions
  std::vector<double> s_scale;             ///< mgcv's S.scale
  std::vector<std::vector<double>> knots;  ///< knots of each variable
  /// E, if a margin has `Basis::points`: maps the basis' own coefficients to mgcv's; eigenvalues refer to
  /// these.
  Matrix values;
  double log_det_values = 0;               ///< log|det E|
  std::vector<double> constant;            ///< the coefficients of the constant 1
  std::vector<std::string> penalty_names;  ///< see `CoefBlock`
  double ridge = 0;  ///< for a random effect, which has no map and penalties: see `Penalty`
  int copies = 0;    ///< levels of a factor smooth: `map` is for one level, without `penalties`
};

/// Combines the margins of a smooth. With `tensor` each margin's penalty is first divided by its largest
/// eigenvalue, as te() does. `largest_row_sum` is the largest sum of |X| over a row of the data: a penalty is
/// divided by its largest column sum over the square of that, so that smoothing parameters are comparable.
/// Source: Wood, Biometrics 62 (2006), sec. 3; mgcv's smoothCon for the scaling.
[[nodiscard]] SmoothBasis combine(std::span<const Basis> margins, bool tensor, double largest_row_sum);

/// A random effect of `size` coefficients over some margins: the penalty of each margin is the same ridge.
[[nodiscard]] SmoothBasis random_effect(std::size_t margins, int size, double largest_row_sum);

/// A factor smooth with a curve in the natural basis (natural_basis.hpp) for each level: one penalty for the
/// penalised functions of all curves, and one for each unpenalised function.
[[nodiscard]] SmoothBasis factor_smooth(const Basis& curve, int levels, double largest_row_sum);

/// t2(): the products of the margins' penalised and unpenalised spaces, in mgcv's order, with a penalty for
/// each except the product of the unpenalised spaces, which is last. The margins are natural
/// (`natural_margin`). `full`: each unpenalised function forms a space by itself with the penalised ones.
/// `orders`: the numbers of penalised margins of the products to include; empty: all. Throws `Error(input)`
/// if nothing is penalised, or if there are more penalties than can be estimated; `label` is the smooth's.
/// Source: Wood, Scheipl and Faraway, Statistics and Computing 23 (2013), 341.
[[nodiscard]] SmoothBasis combine_by_spaces(std::span<const Basis> margins, bool full,
                                            std::span<const int> orders, double largest_row_sum,
                                            const std::string& label);

/// Curves for all combinations of the levels of some factors, the last factor fastest. With `sum_to_zero`
/// they sum to zero over the levels of each factor: the curve of its last level is minus the sum of its other
/// curves. Each combination has its own penalty, or with `one_penalty` they share one.
[[nodiscard]] SmoothBasis level_deviations(const Basis& curve, std::span<const int> levels, bool sum_to_zero,
                                           bool one_penalty, double largest_row_sum);

/// The sum-to-zero constraint c'b = 0 absorbed into a basis.
struct Constraint {
  Matrix z;                     ///< K x K - 1, orthonormal, c'z = 0: the last columns of Q in the QR of c
  double log_det_constant = 0;  ///< what `Penalty::log_det_constant` becomes
  Matrix null_space;  ///< K x (dimension - 1): the unpenalised functions under the constraint, orthonormal
};

/// `means` are the K column means of X; `values`: of the basis, with its log|det|, or empty. Throws
/// `Error(input)`, which names `label`, if the means are all zero.
[[nodiscard]] Constraint sum_to_zero(std::span<const double> means, const Matrix& null_space,
                                     const Matrix& values = {}, double log_det_values = 0,
                                     const std::string& label = "a smooth");

/// A margin under a sum-to-zero constraint; `means` are its column means over the rows.
[[nodiscard]] Basis centred_margin(Basis margin, std::span<const double> means);

/// Removes the constant, with coefficients `constant`, from the range of penalties whose sum has full rank:
/// each becomes its minimum over all added constants, so that a constraint does not change the fit. Their
/// common null space is then `constant`. Several penalties then have no common eigenvectors.
void free_constant(Penalty& penalty, std::span<const double> constant);

/// Recomputes the properties of full-rank penalties after a constraint has removed one function.
void restrict_to_constraint(Penalty& penalty);

/// Maps coefficients to mgcv's for a smooth with centred columns of which column `left_out` is dropped, as in
/// bam: a row for each of mgcv's coefficients. `coefficients`: of all columns, under any constraint;
/// `constant`: of the constant 1.
[[nodiscard]] Matrix sweep_and_drop(const Matrix& coefficients, std::span<const double> constant,
                                    int left_out);

/// Adds the penalty of select=TRUE: the squared norm of the part in the null space of the other penalties, in
/// mgcv's coefficients, to which `coefficients` maps. Nothing remains unpenalised. Source: Marra and Wood,
/// Computational Statistics and Data Analysis 55 (2011), sec. 2.1.
void penalise_null_space(Penalty& penalty, const Matrix& coefficients);

/// `Penalty::eigenvectors` of the basis under the constraint: to each, a null-space function (without
/// penalty) is added so that it satisfies the constraint. Empty if there are none, or that is impossible.
[[nodiscard]] Matrix constrained_eigenvectors(const Matrix& eigenvectors, std::span<const double> means,
                                              const Matrix& null_space, const Matrix& z);

}  // namespace TESSERA_NAMESPACE::gam
