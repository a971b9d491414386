// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/coordinates/orthogonal_smooths.hpp"

#include "base/at.hpp"
#include "base/message.hpp"
#include "gam/basis/basis.hpp"
#include "gam/design/standardise.hpp"
#include "gam/fit/coordinates/block_sketch.hpp"
#include "gam/fit/coordinates/crowded_variables.hpp"
#include "gam/linalg/algebra.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <tessera/error.hpp>
#include <tessera/job/together.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// Limit of the total number of coefficients in orthogonal coordinates, because these make columns dense.
constexpr int most_orthogonal_coefficients = 500;
/// If a diagonal element of R (QR of a smooth's columns) is below this fraction of the first, X'WX has only a
/// few correct digits for that column.
constexpr double near_dependence = 1e-4;
/// Lower bound of a column's divisor, relative to the largest, if a smooth has several penalties (no basis
/// makes all diagonal). Penalties differ by the squares of the divisors, and lose digits if these are small.
constexpr double least_unit = 1e-3;
/// A column below this fraction of the size of its summands is rounding error.
constexpr double rounding = 1e-13;
/// Rounding hides unpenalised columns if their smallest singular value is below this many rounding errors.
constexpr double few_digits = 6e3;

/// Coordinates of a smooth: first the penalised columns by decreasing size, then the unpenalised columns.
struct OrthogonalBasis {
  Matrix to_formula{};
  Matrix in_range{};            ///< penalised columns, projected on the penalties' range
  std::vector<double> units{};  ///< divisors of the penalised columns
  int hidden = 0;               ///< number of penalised columns, at the end, that are only rounding error
  /// Whether rounding hides the unpenalised columns. The other members are then empty.
  bool lost = false;
};

Penalty penalty_in_basis(const Penalty& before, const OrthogonalBasis& basis) {
  const int size = basis.to_formula.rows();
  const int rank = before.rank();
  Penalty penalty;
  penalty.labels = before.labels;
  penalty.orthogonal_columns = true;
  penalty.null_space = submatrix(identity(size), 0, size, rank, size - rank);
  if (before.matrices.size() == 1) {
    penalty.matrices.emplace_back(size, size);
    penalty.eigenvalues = Matrix(rank, 1);
    for (int i = 0; i < rank; ++i) {
      const double unit = basis.units[at(i)];
      penalty.matrices.front()(i, i) = penalty.eigenvalues(i, 0) = 1 / (unit * unit);
    }
    return penalty;
  }
  // Skip the null space: it adds only rounding errors, large ones if its columns are nearly dependent.
  for (const Matrix& matrix : before.matrices) {
    Matrix& out = penalty.matrices.emplace_back(size, size);
    assign(out, 0, 0, symmetrised(multiply_tn(basis.in_range, multiply(matrix, basis.in_range))));
  }
  penalty.set_ranks = before.ranks_of_sets();
  penalty.levels = before.levels;
  penalty.rank_of_level = before.rank_of_level;
  return penalty;
}

/// A basis of the penalties' range. It makes a single penalty the identity, and is orthonormal for several.
Matrix penalised_basis(const Penalty& penalty) {
  const int size = penalty.null_space.rows();
  const int free = penalty.null_space.cols();
  if (penalty.matrices.size() > 1)
    return free == 0 ? identity(size) : submatrix(full_q(penalty.null_space), 0, size, free, size - free);
  const SymmetricEigen eigen = symmetric_eigen(penalty.matrices.front());
  Matrix basis = submatrix(eigen.vectors, 0, size, free, size - free);
  for (int j = 0; j < basis.cols(); ++j) {
    const double root = std::sqrt(eigen.values[at(free + j)]);
    for (double& value : basis.column(j)) value /= root;
  }
  return basis;
}

/// Whether the columns are independent, but their crossproduct is numerically singular.
bool nearly_dependent(const Matrix& columns) {
  const PivotedQr qr = pivoted_qr(columns);
  const double first = std::abs(qr.r(0, 0));
  for (int j = 0; j < qr.r.rows(); ++j) {
    const double left = std::abs(qr.r(j, j));
    if (left < near_dependence * first && left > rounding * first) return true;
  }
  return false;
}

/// For each column of `columns` * `map`, the sum of its summands' norms (the scale of rounding errors).
std::vector<double> sizes_of_sums(const Matrix& columns, const Matrix& map) {
  std::vector<double> sizes(at(map.cols()));
  for (int i = 0; i < columns.cols(); ++i) {
    const double norm = std::sqrt(dot(columns.column(i), columns.column(i)));
    for (int j = 0; j < map.cols(); ++j) sizes[at(j)] += norm * std::abs(map(i, j));
  }
  return sizes;
}

/// Chooses coordinates for a smooth from (a sketch of) its raw columns. Empty if the smooth needs no change,
/// or if its unpenalised columns are dependent. REML does not change: log|T'X'WXT| and log|T'ST|+ change
/// alike.
std::optional<OrthogonalBasis> orthogonal_basis_of(const CoefBlock& block, const Matrix& raw_columns) {
  const Penalty& penalty = *block.penalty;
  const int size = block.coef_size;
  const int rank = penalty.rank();
  const int free = size - rank;
  const bool single = penalty.matrices.size() == 1;
  // Smooths with several penalties always change: te() parameterises its margins by values, and loses digits.
  if (single && !nearly_dependent(multiply(raw_columns, block.map))) return std::nullopt;
  const Matrix& null_space = penalty.null_space;
  const Matrix range = penalised_basis(penalty);
  Matrix both(size, size);
  assign(both, 0, 0, null_space);
  assign(both, 0, free, range);
  const Matrix map = multiply(block.map, both);
  std::vector<double> hidden_below = sizes_of_sums(raw_columns, map);
  for (double& size_of_sum : hidden_below) size_of_sum *= rounding;

  // R of X = QR in the coordinates of `map`: pivoted QR, accurate for columns of different size.
  const PivotedQr qr = pivoted_qr(multiply(raw_columns, map));
  if (qr.r.rows() < size) return std::nullopt;
  Matrix root(size, size);
  for (int j = 0; j < size; ++j) std::ranges::copy(qr.r.column(j), root.column(qr.pivots[at(j)]).begin());
  if (free > 0) root = multiply_tn(full_q(submatrix(root, 0, size, 0, free)), root);
  Matrix unpenalised = submatrix(root, 0, free, 0, free);
  Matrix beside = submatrix(root, 0, free, free, rank);
  if (free > 0) {
    // Singular values do not depend on the basis of the null space.
    const double least = right_singular(unpenalised).values.back();
    const double hidden = *std::max_element(hidden_below.begin(), hidden_below.begin() + free);
    if (!(least > hidden)) return std::nullopt;
    if (least < few_digits * hidden) return OrthogonalBasis{.lost = true};
  }
  const RightSingular penalised = right_singular(submatrix(root, free, rank, free, rank));
  if (!std::isfinite(penalised.values.front())) return std::nullopt;

  const double least_visible = *std::max_element(hidden_below.begin() + free, hidden_below.end());
  OrthogonalBasis basis{Matrix(size, size), multiply(range, penalised.vectors)};
  for (const double value : penalised.values) {
    basis.hidden += value < least_visible ? 1 : 0;
    const double least = single ? least_visible : least_unit * penalised.values.front();
    basis.units.push_back(std::max(value, least));
  }
  for (int j = 0; j < rank; ++j) {
    for (double& value : basis.in_range.column(j)) value /= basis.units[at(j)];
  }
  Matrix first = basis.in_range;
  if (free > 0) {
    // Gram-Schmidt: project each column on the complement of the preceding unpenalised columns.
    for (int i = 0; i < free; ++i) {
      const double own = unpenalised(i, i);
      for (int j = 0; j < free; ++j) unpenalised(i, j) /= own;
      for (int j = 0; j < rank; ++j) beside(i, j) /= own;
    }
    const Matrix back = solve(unpenalised, identity(free)).value();
    Matrix explained = multiply(null_space, multiply(back, multiply(beside, penalised.vectors)));
    for (int j = 0; j < rank; ++j) {
      for (double& value : explained.column(j)) value /= basis.units[at(j)];
    }
    add_multiple(first.values(), -1, explained.values());
    assign(basis.to_formula, 0, rank, multiply(null_space, back));
  }
  assign(basis.to_formula, 0, 0, first);
  return basis;
}

/// *Collective.* Broadcasts the coordinates that rank 0 chose, because CPUs may round differently.
std::optional<OrthogonalBasis> broadcast_basis(const mpi::Communicator& comm, const CoefBlock& block,
                                               std::optional<OrthogonalBasis> basis) {
  bool found = basis.has_value();
  bool lost = found && basis->lost;
  base::broadcast_values(comm, 0, found, lost);
  if (!found) return std::nullopt;
  if (lost) return OrthogonalBasis{.lost = true};
  if (!basis)
    basis = OrthogonalBasis{Matrix(block.coef_size, block.coef_size),
                            Matrix(block.coef_size, block.penalty->rank())};
  base::broadcast_values(comm, 0, basis->to_formula.values(), basis->in_range.values(), basis->units,
                         basis->hidden);
  return basis;
}

/// Transforms a block of the design to the coordinates `basis`. Its columns become dense.
void change_basis(Design& design, CoefBlock& block, const OrthogonalBasis& basis) {
  const RawTerm& term = design.term_of(block);
  Matrix in_rows = basis.to_formula;
  const int rank = block.penalty->rank();
  for (int j = rank - basis.hidden; j < rank; ++j) std::ranges::fill(in_rows.column(j), 0.0);
  Matrix combinations(term.raw_size, block.coef_size);
  assign(combinations, block.raw_begin - term.raw_begin, 0, multiply(block.map, in_rows));
  block.raw_begin = design.add_dense_term(static_cast<int>(design.term_index(block)), combinations);
  block.raw_size = design.terms.back().raw_size;
  block.map = Matrix(block.raw_size, block.coef_size);
  for (int j = 0; j < block.coef_size; ++j) block.map(j, j) = 1;
  block.penalty = penalty_in_basis(*block.penalty, basis);
}

}  // namespace

CrowdedSmooths::CrowdedSmooths(Job& job, const Plan& plan, const Rows& rows) : job_(job), rows_(rows) {
  const Design& design = *rows.design;
  std::vector<int> places;
  int coefficients = 0;
  for (const int index : crowded_blocks(job, rows)) {
    const CoefBlock& block = design.blocks[at(index)];
    if (coefficients + block.coef_size > most_orthogonal_coefficients) continue;
    coefficients += block.coef_size;
    places.push_back(index);
  }
  if (places.empty()) return;
  const BlockSketch sketch =
      sketch_of_blocks(job, *rows.frame, design, places, unweighted_gram(job, plan, rows));
  for (std::size_t i = 0; i < places.size(); ++i) {
    const CoefBlock& own = sketch.compact.blocks[i];
    smooths_.push_back({sketch.part.blocks[i].raw_begin,
                        sketch.raw.empty()
                            ? Matrix()
                            : submatrix(sketch.raw, 0, sketch.raw.rows(), own.raw_begin, own.raw_size)});
  }
}

std::optional<ChangedDesign> CrowdedSmooths::with_orthogonal_columns(const Design& design) const {
  if (smooths_.empty()) return std::nullopt;
  const mpi::Communicator& comm = job_.comm();
  ChangedDesign out{.design = design, .change = {}, .same_blocks = true};
  out.change.part = out.change.formula_part = design.parted_coefficients();
  for (const Columns& columns : smooths_) {
    const auto block = std::ranges::find(out.design.blocks, columns.raw_begin, &CoefBlock::raw_begin);
    if (block == out.design.blocks.end() || block->penalty->count() == 0) continue;
    std::optional<OrthogonalBasis> basis;
    together(comm, [&] {
      if (comm.rank() == 0) basis = orthogonal_basis_of(*block, columns.sketch);
    });
    basis = broadcast_basis(comm, *block, std::move(basis));
    if (!basis) continue;
    if (basis->lost) {
      const std::string where = crowding(job_, rows_, *block);
      throw Error(ErrorCode::not_converged,
                  fmt::format("{}: the unpenalised functions of this smooth are linearly dependent in the "
                              "complete rows, up to rounding: {}",
                              block->label, where.empty() ? "use a smaller k, or remove the smooth" : where));
    }
    change_basis(out.design, *block, *basis);
    out.change.blocks.push_back({block->coef_begin, std::move(basis->to_formula)});
  }
  if (out.change.blocks.empty()) return std::nullopt;
  for (std::size_t i = 0; i < design.terms.size(); ++i) {
    RawTerm& term = out.design.terms[i];
    term.only_combined = std::ranges::none_of(
        out.design.blocks, [&](const CoefBlock& block) { return &out.design.term_of(block) == &term; });
  }
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam
