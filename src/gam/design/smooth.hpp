// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/basis.hpp"
#include "gam/design/design.hpp"

#include <tessera/gam/matrix.hpp>

#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A smooth before its constraint is applied: the row-wise Kronecker product of its margins.
struct SmoothBasis {
  Matrix map;                     ///< raw x K; the last margin's index varies fastest
  std::vector<Matrix> penalties;  ///< penalty of each margin, K x K, divided by `s_scale`
  Matrix eigenvalues;             ///< rank x penalties: see `Penalty`
  Matrix eigenvectors;            ///< K x rank, for several margins: see `Penalty`
  std::vector<int> set_ranks;     ///< for several penalties of one margin: see `Penalty`
  Matrix levels;                  ///< for bs="sz": see `Penalty`
  Matrix of_level;
  int rank_of_level = 0;
  Matrix null_space;            ///< K x dimension, orthonormal: the unpenalised functions
  std::vector<double> s_scale;  ///< mgcv's S.scale
  std::vector<std::vector<double>> knots;
  /// E, if a margin has `Basis::points`: the map to mgcv's coefficients, to which `eigenvalues` refer.
  Matrix values;
  double log_det_values = 0;               ///< log|det E|
  std::vector<double> constant;            ///< the coefficients of the constant 1
  std::vector<std::string> penalty_names;  ///< see `CoefBlock`
  double ridge = 0;  ///< for a random effect, which has no map and penalties: see `Penalty`
  int copies = 0;    ///< levels of a factor smooth: `map` is for one level; no `penalties`
};

/// Combines the margins of a smooth. With `tensor` each margin's penalty is first divided by its largest
/// eigenvalue, as te() does. `largest_row_sum`: the maximum over the rows of the sum of |X| over a row. A
/// penalty is divided by its largest column sum and multiplied by the square of `largest_row_sum`, so that
/// smoothing parameters are comparable. Source: Wood, Biometrics 62 (2006), sec. 3; scaling: smoothCon.
[[nodiscard]] SmoothBasis combine(std::span<const Basis> margins, bool tensor, double largest_row_sum);

/// A random effect of `size` coefficients over `margins` margins, with one ridge penalty.
[[nodiscard]] SmoothBasis random_effect(std::size_t margins, int size, double largest_row_sum);

/// A factor smooth: a curve in the natural basis (natural_basis.hpp) per level, with one penalty for the
/// penalised functions of all curves, and one for each unpenalised function.
[[nodiscard]] SmoothBasis factor_smooth(const Basis& curve, int levels, double largest_row_sum);

/// t2(): the products of the margins' penalised and unpenalised spaces, in mgcv's order, with a penalty for
/// each, except for the product of the unpenalised spaces, which comes last. The margins are natural
/// (`natural_margin`). `full`: each unpenalised function is multiplied with the penalised spaces separately.
/// `orders`: the numbers of penalised margins of the products to include; empty: all. Throws `Error(input)`
/// if nothing is penalised, or if there are more penalties than can be estimated; `label`: the smooth's
/// label. Source: Wood, Scheipl and Faraway, Statistics and Computing 23 (2013), 341.
[[nodiscard]] SmoothBasis combine_by_spaces(std::span<const Basis> margins, bool full,
                                            std::span<const int> orders, double largest_row_sum,
                                            const std::string& label);

/// Curves for all combinations of the levels of some factors; the last factor varies fastest. With
/// `sum_to_zero`, curves sum to zero over the levels of each factor: the curve of a factor's last level is
/// minus the sum of the others. Each combination has its own penalty, or with `one_penalty` all share one.
[[nodiscard]] SmoothBasis level_deviations(const Basis& curve, std::span<const int> levels, bool sum_to_zero,
                                           bool one_penalty, double largest_row_sum);

/// The sum-to-zero constraint c'b = 0 absorbed into a basis.
struct Constraint {
  Matrix z;                     ///< K x (K - 1), orthonormal, c'z = 0: the last columns of Q in the QR of c
  double log_det_constant = 0;  ///< the new value of `Penalty::log_det_constant`
  Matrix null_space;  ///< K x (dimension - 1), orthonormal: the unpenalised functions under the constraint
};

/// `means`: the K column means of X; `values` and `log_det_values`: see `SmoothBasis`. Throws an
/// `Error(input)` that names `label` if all means are zero.
[[nodiscard]] Constraint sum_to_zero(std::span<const double> means, const Matrix& null_space,
                                     const Matrix& values = {}, double log_det_values = 0,
                                     const std::string& label = "a smooth");

/// Absorbs a sum-to-zero constraint into a margin; `means`: its column means over the rows.
[[nodiscard]] Basis centred_margin(Basis margin, std::span<const double> means);

/// Removes the constant, with coefficients `constant`, from the range of penalties whose sum has full rank.
/// Each penalty becomes its minimum over all added constants, so that a constraint does not change the fit.
/// The common null space is then the constant, and several penalties have no common eigenvectors.
void free_constant(Penalty& penalty, std::span<const double> constant);

/// Recomputes the properties of full-rank penalties after a constraint has removed one function.
void restrict_to_constraint(Penalty& penalty);

/// Returns the map to bam's coefficients of a smooth: bam centres the columns and drops column `left_out`.
/// `coefficients`: the map to the coefficients of all columns, under any constraint; `constant`: the
/// coefficients of the constant 1.
[[nodiscard]] Matrix sweep_and_drop(const Matrix& coefficients, std::span<const double> constant,
                                    int left_out);

/// Adds the penalty of select=TRUE: the squared norm, in mgcv's coefficients, of the part in the null space
/// of the other penalties. `coefficients`: the map to mgcv's coefficients. The null space of all penalties is
/// then empty. Source: Marra and Wood, Computational Statistics and Data Analysis 55 (2011), sec. 2.1.
void penalise_null_space(Penalty& penalty, const Matrix& coefficients);

/// `Penalty::eigenvectors` under the constraint: an unpenalised function is added to each eigenvector, so
/// that it satisfies the constraint. Empty if `eigenvectors` is empty, or the constraint is nearly orthogonal
/// to the null space.
[[nodiscard]] Matrix constrained_eigenvectors(const Matrix& eigenvectors, std::span<const double> means,
                                              const Matrix& null_space, const Matrix& z);

}  // namespace TESSERA_NAMESPACE::gam
