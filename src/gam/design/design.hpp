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

/// The model matrix in the form that makes a row cheap: X = R M.
///
/// R (rows x raw) is local: a row of R has a few nonzeros for every basis, each being a piecewise cubic with
/// four local values in each cell of its variable. M (raw x coefficients) is a small dense map that does not
/// depend on the rows: it makes a cr or cc basis of values and second derivatives, wraps a cyclic basis, and
/// contains te's reparameterisation and the constraint. So X'WX = M' (R'WR) M, and a pass over the rows never
/// forms a dense row.
namespace TESSERA_NAMESPACE::gam {

struct Frame;

/// Penalties of one coefficient block, and the pieces of log|S|+ that do not need the rows.
///
/// S_j are coefficients x coefficients, scaled (log_sp refers to them) and constrained. Before the
/// constraint they commute: their eigenvalues are the columns of `eigenvalues` (one row for each common
/// eigenvector that some S_j does not annihilate), so log|sum_j lambda_j S_j|+ =
/// sum_i log(sum_j lambda_j eigenvalues(i, j)) + log_det_constant, whatever the lambdas. The constant is
/// log|P c|^2, c the unit constraint vector and P the projector on the null space: det(I - u u') = 1 - |u|^2.
///
/// With fx=TRUE a smooth has no penalty, and its null space is the whole space.
///
/// A smooth that has lost columns to a side condition (side_conditions.hpp), or has a constraint and several
/// penalties that together have no null space, has penalties without common eigenvectors: `set_ranks` then
/// replaces `eigenvalues`, and the constant is zero. The same holds for bs="sz", with one penalty for each
/// level and too many subsets to number: `levels` determines their ranks.
///
/// The penalty of a random effect, of possibly very many levels, is a multiple of the identity: it is stored
/// as the number `ridge`, without `matrices`. A factor smooth has no matrices either: it is `diagonal`.
struct Penalty {
  std::vector<Matrix> matrices;
  Matrix eigenvalues;  ///< rank x count()
  double log_det_constant = 0;
  std::vector<std::string> labels;  ///< as R names its smoothing parameters: "s(x)", "te(x,z)1", …
  /// Rank of the sum of each subset of the penalties, by a bit mask of their indices. Empty if they have
  /// common eigenvectors.
  std::vector<int> set_ranks;
  /// Penalties that are the Kronecker products of a a' and one matrix of rank `rank_of_level`: each column is
  /// an a. A further penalty penalises the common null space of these.
  Matrix levels{};
  Matrix of_level{};  ///< matrix of one level; empty unless the coordinates are level by level
  int rank_of_level = 0;
  Matrix null_space;  ///< coefficients x (coefficients - rank), orthonormal: the unpenalised space
  /// For several penalties that commute, coefficients x rank: T with T' S_j T the diagonal matrix of column j
  /// of `eigenvalues`; its columns are not orthogonal. Empty if unknown.
  Matrix eigenvectors{};
  double ridge = 0;
  /// True: S_j is the diagonal matrix of column j of `eigenvalues`.
  bool diagonal = false;
  /// True: the columns of X are orthogonal, or nearly, in these coordinates, and the penalised ones come
  /// first; a single penalty is diagonal, with `eigenvalues`. Each element of X'WX is then accurate to all
  /// digits.
  bool orthogonal_columns = false;
  [[nodiscard]] bool is_ridge() const noexcept { return ridge > 0; }
  [[nodiscard]] bool is_diagonal() const noexcept { return is_ridge() || diagonal; }
  /// Number of penalties, each of which has a smoothing parameter.
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
  /// Rank of the sum of the penalties that are marked.
  [[nodiscard]] int rank_of(const std::vector<bool>& marked) const;
  /// Rank of S_j.
  [[nodiscard]] int rank_of(std::size_t j) const;
  /// The ranks that `set_ranks` would have, also for commuting penalties; empty if `levels` determines them.
  [[nodiscard]] std::vector<int> ranks_of_sets() const;
};

/// The Kronecker products of a a' and `of_level`, for each column a of `levels`.
[[nodiscard]] std::vector<Matrix> penalties_of_levels(const Matrix& levels, const Matrix& of_level);

/// A run of coefficients made from a run of raw columns.
struct CoefBlock {
  std::string label;               ///< "(Intercept)", "cut", "s(x)", "s(x):facL1", "te(x,z)"
  std::string kind;                ///< "parametric", "te", "ti", "t2", "fs", "sz", or the name of a basis
  std::vector<std::string> names;  ///< name of each coefficient, as in R: "cutGood", "s(x).1", …
  int raw_begin = 0;
  int raw_size = 0;
  int coef_begin = 0;
  int coef_size = 0;
  Matrix map;      ///< raw_size x coef_size; no rows: the identity
  int copies = 1;  ///< repetitions of `map` along the diagonal of M: levels of a factor smooth
  std::optional<Penalty> penalty;          ///< smooths only
  std::vector<std::vector<double>> knots;  ///< knots of each variable of the margins, for model.json
  std::vector<double> s_scale;             ///< S.scale of each penalty
  /// Suffix that each penalty's label has after the smooth's label; empty: numbers from one.
  std::vector<std::string> penalty_names;
  std::vector<std::string> ids;  ///< id of each penalty, shared with penalties of other blocks; or none
  std::vector<double>
      log_sp;  ///< by penalty: the given value, or -inf for 0; NaN: estimated; empty: all estimated
  std::vector<double> least_sp;        ///< by penalty: added to its lambda; empty: nothing
  std::vector<std::string> variables;  ///< the margins' variables, then the by variable if any
  std::string by_level;
  /// Powers of two that scale a smooth's columns in a standardised design. `by_scale`: of its numeric by
  /// variable. `margin_scale`: of the numbers among its margins; it scales the penalties too.
  double by_scale = 1;
  double margin_scale = 1;
  /// c of the constraint c'b = 0 on the coefficients of the basis, up to a factor, absorbed in `map`; empty:
  /// none, or the margins have their own.
  std::vector<double> constraint;
  /// For ti(): `constraint` of each margin; empty: no margin has its own constraint.
  std::vector<std::vector<double>> margin_constraints;
  std::vector<int> dropped;  ///< constrained coefficients removed by a side condition
  bool centred = false;      ///< constrained: the smooth sums to zero over the rows, or is zero at a point
  int determined = 0;        ///< functions dropped from a smooth's null space, determined by other terms

  /// True for a curve for each level of a factor.
  [[nodiscard]] bool is_factor_smooth() const noexcept { return kind == "fs" || kind == "sz"; }
  /// True for a random effect, whose coefficients are its raw columns.
  [[nodiscard]] bool has_identity_map() const noexcept { return map.rows() == 0; }
  /// Element of the block's M at a raw column and one of its coefficients.
  [[nodiscard]] double map_at(int raw, int coef) const;
  /// The coefficients [first, last) that depend on a raw column.
  [[nodiscard]] std::pair<int, int> coefficients_at(int raw) const;
  /// M b of the block's coefficients, and M' r of its raw columns.
  [[nodiscard]] std::vector<double> to_raw(std::span<const double> coef) const;
  [[nodiscard]] std::vector<double> to_coefficients(std::span<const double> raw) const;
  /// M a and a M', for a matrix a.
  [[nodiscard]] Matrix map_times(Matrix a) const;
  [[nodiscard]] Matrix times_transposed_map(Matrix a) const;
};

/// The type and the levels that a variable must have in any table to which the design is applied.
struct DesignVariable {
  std::string name;
  bool factor = false;
  std::vector<std::string> levels;
  bool ordered = false;  ///< R's ordered factor, in the table of the fit: no prediction depends on it
  bool operator==(const DesignVariable&) const = default;
};

/// A column of the design as a combination of the formula's columns: indices and factors.
using ColumnCombination = std::vector<std::pair<int, double>>;

/// How a penalty's lambda depends on a smoothing parameter: lambda = least + exp(log smoothing parameter +
/// offset). If lambda is given, only the offset is used.
struct PenaltyParameter {
  int index = 0;  ///< -1: none
  double offset = 0;
  double least = 0;

  /// log lambda as a function of the log smoothing parameter.
  [[nodiscard]] double log_lambda(double log_sp) const;
  /// The inverse of `log_lambda`; a lambda below 1.001 `least` counts as that.
  [[nodiscard]] double log_sp(double log_lambda) const;
  /// d log lambda / d log smoothing parameter.
  [[nodiscard]] double slope(double log_lambda) const;
};

/// One level of a random effect or factor smooth in the part: where its raw columns and its coefficients
/// begin within the part.
struct PartLevel {
  int raw_begin;
  int raw_size;
  int begin;
  int size;
  const Matrix* map;  ///< raw_size x size; null: the identity
};

/// Everything about the model matrix that does not depend on a single row.
struct Design {
  std::vector<DesignVariable> variables;  ///< indexed by `Component::variable`
  std::vector<RawTerm> terms;
  std::vector<CoefBlock> blocks;
  int raw_size = 0;
  int coef_size = 0;
  /// For each parametric raw column of a standardised design, its combination of raw columns of the formula;
  /// else empty.
  std::vector<std::pair<int, ColumnCombination>> raw_combinations;
  /// Dropped columns, linearly dependent on other terms: a parametric column's name, a smooth's label.
  std::vector<std::string> left_out;
  /// The raw columns of the random effects and factor smooths whose blocks of crossproducts and of the
  /// covariance are sparse (`PartedMatrix`); empty: all are dense.
  Part parted_columns;

  [[nodiscard]] const RawTerm& term_of(const CoefBlock& block) const;
  /// Index in `terms` of the term that a block is made from.
  [[nodiscard]] std::ptrdiff_t term_index(const CoefBlock& block) const {
    return &term_of(block) - terms.data();
  }
  /// The coefficients that belong to `parted_columns`.
  [[nodiscard]] Part parted_coefficients() const;
  /// Whether the part contains a factor smooth, whose levels have several columns each.
  [[nodiscard]] bool parts_curves() const;
  /// The levels of the part's blocks, in order. A level of a random effect has one column.
  [[nodiscard]] std::vector<PartLevel> levels_of_part() const;
  /// Dimension of the unpenalised space: coef_size minus the ranks of all penalties.
  [[nodiscard]] int null_space() const;
  [[nodiscard]] std::vector<std::string> coef_names() const;
  /// `raw_combinations` expressed in the parametric coefficients that remain, which come first.
  [[nodiscard]] std::vector<ColumnCombination> combinations() const;
  [[nodiscard]] std::size_t penalty_count() const;
  /// The smoothing parameter of each penalty. Penalties with the same id share one; if columns are scaled
  /// they have offsets, so that their lambdas are equal in the formula's columns.
  [[nodiscard]] std::vector<PenaltyParameter> parameters() const;
  /// M as one raw x coefficients matrix.
  [[nodiscard]] Matrix map() const;
  /// M b, without forming M.
  [[nodiscard]] std::vector<double> raw_coefficients(std::span<const double> coef) const;
  /// The factors among the terms' variables with their levels, as `FrameRequest` takes them.
  [[nodiscard]] std::vector<std::pair<std::string, std::vector<std::string>>> known_levels() const;
  /// The names of the terms' numeric variables.
  [[nodiscard]] std::vector<std::string> known_numbers() const;
  /// Appends a term, sets its place, size and nonzeros, and returns its first raw column. Throws
  /// `Error(input)` if the number of raw columns overflows an int, or the term has more than `max_components`
  /// components or too many splines.
  int add_term(std::vector<Component> components);
  /// Appends dense columns, combinations of the columns of term `combined`; returns the first. They are
  /// padded with zero columns to a multiple of four, and at least eight.
  int add_dense_term(int combined, const Matrix& combinations);
  /// Assigns every block its coefficients; removes blocks without any.
  void count_coefficients();
};

/// Maximum number of penalties of a smooth: `Penalty::set_ranks` has an element for each subset. Without
/// common eigenvectors, each is the rank of a matrix.
inline constexpr int most_penalties = 20;
inline constexpr int most_general_penalties = 10;

/// Maximum number of components of a term: subsets are bit masks (see layout.hpp).
inline constexpr int max_components = 32;

/// Whether the smoothing parameter of a penalty is given.
[[nodiscard]] inline bool is_given(const CoefBlock& block, std::size_t penalty) {
  return !block.log_sp.empty() && !std::isnan(block.log_sp[penalty]);
}

/// Names a smooth's coefficients and penalties from its label, as R does.
void name_smooth(CoefBlock& block);

/// The design with its components indexing the variables of `frame`, found by name: required before a design
/// from a model file is applied to a table. Throws `Error(input)` if the frame lacks a variable, or has it
/// with another type or other levels.
[[nodiscard]] Design reindexed(Design design, const Frame& frame);

}  // namespace TESSERA_NAMESPACE::gam
