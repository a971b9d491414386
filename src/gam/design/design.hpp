// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/parted_matrix.hpp"
#include "gam/terms/raw_term.hpp"

#include <tessera/gam/matrix.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// The model matrix as a product that makes rows cheap: X = R M.
///
/// R (rows x raw) is sparse, except for radial bases: other splines are piecewise cubics with four nonzero
/// columns in a row. M (raw x coefficients) is a small dense map that does not depend on the rows: it
/// contains cubic regression splines, cyclic wrapping, te()'s reparameterisation and constraints. Thus X'WX =
/// M' (R'WR) M, and a pass over the rows never forms a row of X.
namespace TESSERA_NAMESPACE::gam {

struct Frame;

/// The penalties of one coefficient block, and the parts of log|S|+ that do not depend on the rows.
///
/// S_j are scaled (log_sp refers to the scaled matrices) and constrained. Before the constraint they commute.
/// Their eigenvalues are the columns of `eigenvalues`, with one row for each common eigenvector that some S_j
/// does not annihilate. So log|sum_j lambda_j S_j|+ = sum_i log(sum_j lambda_j eigenvalues(i, j)) +
/// log_det_constant, for all lambdas. The constant is log|P c|^2, where c is the unit constraint vector and P
/// the projector on the null space, by det(I - u u') = 1 - |u|^2.
///
/// With fx=TRUE a smooth has no penalty, and its null space is the whole space.
///
/// Penalties have no common eigenvectors if the smooth has lost columns to a side condition
/// (side_conditions.hpp), or has a constraint and several penalties without a common null space. Then
/// `set_ranks` replaces `eigenvalues`, and the constant is zero. bs="sz" has one penalty per level and too
/// many subsets to list: `levels` determines the ranks instead.
///
/// A random effect or factor smooth may have very many levels, and has no `matrices`. The penalty of a random
/// effect is `ridge` times the identity; those of a factor smooth are `diagonal`.
struct Penalty {
  std::vector<Matrix> matrices;
  Matrix eigenvalues;  ///< rank x count()
  double log_det_constant = 0;
  std::vector<std::string> labels;  ///< R's names of the smoothing parameters: "s(x)", "te(x,z)1", …
  /// Rank of the sum of each subset, by bit mask. Empty if the penalties have common eigenvectors.
  std::vector<int> set_ranks;
  /// For bs="sz": penalty j is the Kronecker product of a a', where a is column j of `levels`, and a matrix
  /// of rank `rank_of_level`, the same for all j. One more penalty may act on the common null space of these.
  Matrix levels{};
  Matrix of_level{};  ///< that second matrix; empty unless coefficients are ordered by level
  int rank_of_level = 0;
  Matrix null_space;  ///< coefficients x (coefficients - rank), orthonormal: the unpenalised space
  /// For several penalties that commute, a matrix T, coefficients x rank, for which T' S_j T is diagonal with
  /// column j of `eigenvalues`. The columns of T are not orthogonal. Empty if unknown.
  Matrix eigenvectors{};
  double ridge = 0;
  /// True if S_j is the diagonal matrix with column j of `eigenvalues`.
  bool diagonal = false;
  /// True if X has (nearly) orthogonal columns, penalised ones first, so that each element of X'WX is
  /// accurate to all digits. If there is only one penalty, S_0 is diagonal too, with `eigenvalues`.
  bool orthogonal_columns = false;
  [[nodiscard]] bool is_ridge() const noexcept { return ridge > 0; }
  [[nodiscard]] bool is_diagonal() const noexcept { return is_ridge() || diagonal; }
  [[nodiscard]] std::size_t count() const noexcept {
    return is_diagonal() ? static_cast<std::size_t>(eigenvalues.cols()) : matrices.size();
  }
  /// S_j b.
  [[nodiscard]] std::vector<double> times(std::size_t j, std::span<const double> b) const;
  [[nodiscard]] Matrix matrix(std::size_t j) const;
  [[nodiscard]] double diagonal_of(std::size_t j, int i) const {
    return is_diagonal() ? eigenvalues(i, static_cast<int>(j)) : matrices[j](i, i);
  }
  [[nodiscard]] bool commutes() const noexcept { return set_ranks.empty() && levels.empty(); }
  [[nodiscard]] int rank() const;
  /// Rank of the sum of the marked penalties.
  [[nodiscard]] int rank_of(const std::vector<bool>& marked) const;
  [[nodiscard]] int rank_of(std::size_t j) const;
  /// Like `set_ranks`, but also for commuting penalties; empty if `levels` determines the ranks.
  [[nodiscard]] std::vector<int> ranks_of_sets() const;
};

/// The Kronecker products of a a' and `of_level`, for each column a of `levels`.
[[nodiscard]] std::vector<Matrix> penalties_of_levels(const Matrix& levels, const Matrix& of_level);

/// Contiguous coefficients of one term, or of one level of its by variable, and contiguous raw columns.
struct CoefBlock {
  std::string label;               ///< "(Intercept)", "cut", "s(x)", "s(x):facL1", "te(x,z)"
  std::string kind;                ///< "parametric", "te", "ti", "t2", "fs", "sz", or the name of a basis
  std::vector<std::string> names;  ///< name of each coefficient, as in R: "cutGood", "s(x).1", …
  int raw_begin = 0;
  int raw_size = 0;
  int coef_begin = 0;
  int coef_size = 0;
  Matrix map;      ///< (raw_size / copies) x (coef_size / copies); no rows: the identity
  int copies = 1;  ///< repetitions of `map` along the diagonal of M: levels of a factor smooth
  std::optional<Penalty> penalty;          ///< of smooths, and of parametric terms that are penalised
  std::vector<std::vector<double>> knots;  ///< knots of each variable of the margins, for model.json
  std::vector<double> s_scale;             ///< S.scale of each penalty
  /// The suffix that each penalty's label appends to the smooth's label; empty: numbers from one.
  std::vector<std::string> penalty_names;
  std::vector<std::string> ids;  ///< id of each penalty; penalties of other blocks may share it; empty: none
  /// Log of the given smoothing parameter of each penalty; -inf for 0; NaN: estimated; empty: all estimated.
  std::vector<double> log_sp;
  std::vector<double> least_sp;        ///< constant that is added to each lambda; empty: 0
  std::vector<std::string> variables;  ///< variables of the margins, then the by variable if there is one
  std::string by_level;
  /// Powers of two that scale a smooth's columns in a standardised design. `by_scale`: of its numeric by
  /// variable. `margin_scale`: of its numeric margins; scales the penalties too.
  double by_scale = 1;
  double margin_scale = 1;
  /// The vector c, up to a factor, of the constraint c'b = 0 on the coefficients of the basis, which `map`
  /// has absorbed; empty: no constraint, or the margins have their own.
  std::vector<double> constraint;
  /// For ti(): `constraint` of each margin; empty: no margin has its own constraint.
  std::vector<std::vector<double>> margin_constraints;
  /// For t2() and factor smooths: `Basis::natural` of each margin; empty: no margin has natural coefficients.
  std::vector<Matrix> margin_natural;
  std::vector<int> dropped;  ///< constrained coefficients that a side condition removed
  bool centred = false;  ///< whether the smooth is constrained: sums to zero over rows, or is zero at a point
  /// Number of functions of the null space that were dropped, because other terms determine them.
  int determined = 0;

  [[nodiscard]] bool is_intercept() const noexcept { return !penalty && variables.empty(); }
  [[nodiscard]] bool is_smooth() const noexcept { return penalty && kind != "parametric"; }
  [[nodiscard]] bool is_factor_smooth() const noexcept { return kind == "fs" || kind == "sz"; }
  /// True for a random effect, which has one coefficient for each raw column.
  [[nodiscard]] bool has_identity_map() const noexcept { return map.rows() == 0; }
  /// Element of M, by raw column and coefficient within the block.
  [[nodiscard]] double map_at(int raw, int coef) const;
  /// The range [first, last) of coefficients that use a raw column.
  [[nodiscard]] std::pair<int, int> coefficients_at(int raw) const;
  /// M b for the block's coefficients b, and M' r for a vector r with a value for each of its raw columns.
  [[nodiscard]] std::vector<double> to_raw(std::span<const double> coef) const;
  [[nodiscard]] std::vector<double> to_coefficients(std::span<const double> raw) const;
  /// M a and a M', for a matrix a.
  [[nodiscard]] Matrix map_times(Matrix a) const;
  [[nodiscard]] Matrix times_transposed_map(Matrix a) const;
};

/// The type and levels that a variable must have in every table to which the design is applied.
struct DesignVariable {
  std::string name;
  bool factor = false;
  std::vector<std::string> levels;
  bool ordered = false;  ///< whether an ordered factor (R) in the fit's table; unused in predictions
  bool operator==(const DesignVariable&) const = default;
};

/// A column of the design as a combination of the formula's columns: indices and factors.
using ColumnCombination = std::vector<std::pair<int, double>>;

/// The lambda of a penalty as a function of a smoothing parameter: lambda = least + exp(log smoothing
/// parameter + offset). If lambda is given, index is -1: lambda = least + exp(offset).
struct PenaltyParameter {
  int index = 0;  ///< index of the smoothing parameter; -1: none
  double offset = 0;
  double least = 0;

  [[nodiscard]] double log_lambda(double log_sp) const;
  /// The inverse of `log_lambda`; a lambda below 1.001 `least` counts as 1.001 `least`.
  [[nodiscard]] double log_sp(double log_lambda) const;
  /// d log lambda / d log smoothing parameter.
  [[nodiscard]] double slope(double log_lambda) const;
};

/// One level of the sparse part; `raw_begin` and `begin` are positions within the part.
struct PartLevel {
  int raw_begin;
  int raw_size;
  int begin;
  int size;
  const Matrix* map;  ///< raw_size x size; null: the identity
};

/// Everything that determines a row of the model matrix, except the data of the row.
struct Design {
  std::vector<DesignVariable> variables;  ///< indexed by `Component::variable`
  std::vector<RawTerm> terms;
  std::vector<CoefBlock> blocks;
  int raw_size = 0;
  int coef_size = 0;
  /// In a standardised design: each parametric raw column as a combination of the formula's raw columns.
  std::vector<std::pair<int, ColumnCombination>> raw_combinations;
  /// Labels of dropped columns, linearly dependent on others: a parametric column's name, a smooth's label.
  std::vector<std::string> left_out;
  /// For each formula, the linear predictors that use its terms. Empty: formula i is linear predictor i.
  std::vector<std::vector<int>> readers;
  /// The sparse part: raw columns of the random effects and factor smooths whose blocks in crossproducts and
  /// the covariance are sparse (`PartedMatrix`); empty: all blocks are dense.
  Part parted_columns;

  [[nodiscard]] const RawTerm& term_of(const CoefBlock& block) const;
  /// Number of formulas: those of the linear predictors, and those of shared terms.
  [[nodiscard]] int predictors() const;
  [[nodiscard]] int predictor_of(const CoefBlock& block) const { return term_of(block).predictor; }
  /// Calls `use(p)` for each linear predictor p to which the terms of a formula are added.
  template <class Use>
  void for_each_reader(int formula, const Use& use) const {
    if (readers.empty()) return use(formula);
    for (const int reader : readers[static_cast<std::size_t>(formula)]) use(reader);
  }
  /// Number of linear predictors to which the terms of both formulas are added.
  [[nodiscard]] int common_readers(int one, int other) const;
  /// The intercept of a linear predictor; null: it has none.
  [[nodiscard]] const CoefBlock* intercept(int predictor = 0) const;
  [[nodiscard]] std::ptrdiff_t term_index(const CoefBlock& block) const {
    return &term_of(block) - terms.data();
  }
  [[nodiscard]] Part parted_coefficients() const;
  /// Whether the sparse part contains a factor smooth, whose levels have several columns.
  [[nodiscard]] bool parts_curves() const;
  /// The levels of the sparse part, in order. A level of a random effect has one column.
  [[nodiscard]] std::vector<PartLevel> levels_of_part() const;
  /// Dimension of the unpenalised space: coef_size minus the sum of the ranks of the blocks' penalties.
  [[nodiscard]] int null_space() const;
  [[nodiscard]] std::vector<std::string> coef_names() const;
  /// `raw_combinations` by parametric coefficient instead of raw column. Has an element for each coefficient
  /// up to the last parametric one; a coefficient of a smooth is a combination of itself alone.
  [[nodiscard]] std::vector<ColumnCombination> combinations() const;
  [[nodiscard]] std::size_t penalty_count() const;
  /// The smoothing parameter of each penalty. Penalties with the same id share a parameter; if columns are
  /// scaled, offsets make their lambdas equal in terms of the formula's columns.
  [[nodiscard]] std::vector<PenaltyParameter> parameters() const;
  /// M as one raw x coefficients matrix.
  [[nodiscard]] Matrix map() const;
  /// M b, without forming M.
  [[nodiscard]] std::vector<double> raw_coefficients(std::span<const double> coef) const;
  /// The factors that the terms use, with their levels, in the form of `FrameRequest`.
  [[nodiscard]] std::vector<std::pair<std::string, std::vector<std::string>>> known_levels() const;
  [[nodiscard]] std::vector<std::string> known_numbers() const;
  /// Appends a term, and returns its first raw column. Throws `Error(input)` if the raw columns overflow an
  /// int, or if the term has more than `max_components` components or too many splines.
  int add_term(std::vector<Component> components);
  /// Appends a term of dense columns, which are combinations of the columns of term `combined`; returns its
  /// first raw column. The columns are padded with zero columns to a multiple of four, and at least eight.
  int add_dense_term(int combined, const Matrix& combinations);
  /// Removes blocks without coefficients, and numbers the coefficients of the other blocks.
  void count_coefficients();
};

/// Maximum number of penalties of a smooth with common eigenvectors, and without: the rank of each subset is
/// computed, and without common eigenvectors each rank costs an eigendecomposition.
inline constexpr int most_penalties = 20;
inline constexpr int most_general_penalties = 10;

/// Maximum number of components of a term: subsets are bit masks (see layout.hpp).
inline constexpr int max_components = 32;

[[nodiscard]] inline bool is_given(const CoefBlock& block, std::size_t penalty) {
  return !block.log_sp.empty() && !std::isnan(block.log_sp[penalty]);
}

/// Joins the designs of several linear predictors. Blocks get mgcv's names, such as s.1(x) and (Intercept).1
/// in the second design. All designs have the variables of one frame, and no sparse part.
[[nodiscard]] Design joined(std::vector<Design> designs);

/// The name of a term in the whole model: in the second predictor s.1(x) for s(x), and z.1 for a parametric
/// z; in the first predictor, `name` itself.
[[nodiscard]] std::string name_in_predictor(const std::string& name, bool smooth, int predictor);

/// Names a block's penalties, and the coefficients of a smooth, from its label, as R does.
void name_smooth(CoefBlock& block);

/// Sets the variable indices of the components to those of `frame`, by name. Call this before a design from a
/// model file is applied to a table. Throws `Error(input)` if a variable is missing, or has another type or
/// other levels.
[[nodiscard]] Design reindexed(Design design, const Frame& frame);

}  // namespace TESSERA_NAMESPACE::gam
