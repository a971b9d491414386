// SPDX-License-Identifier: Apache-2.0
#include "gam/design/determined_columns.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "gam/design/coefficient_sums.hpp"
#include "gam/linalg/elimination.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// A column whose squared residual is below the first fraction of its squared norm is dependent: the residual
/// is a rounding error of X'WX. Below the second fraction, the residual may be a rounding error.
constexpr double dependence_tolerance = 1e-13;
constexpr double doubt_tolerance = 1e-11;
constexpr double equality_tolerance = 1e-9;

using base::at;

/// The unpenalised columns of X as a design; a smooth's map is multiplied by its null space.
Design unpenalised_part(const Design& design) {
  Design part = design;
  part.coef_size = 0;
  for (CoefBlock& block : part.blocks) {
    if (block.penalty) {
      const Matrix& null_space = block.penalty->null_space;
      block.map = null_space.cols() == 0     ? Matrix(block.raw_size, 0)
                  : block.has_identity_map() ? null_space
                                             : multiply(block.map, null_space);
      block.copies = 1;
      block.coef_size = block.map.cols();
      block.penalty.reset();
    }
    // Keep blocks without unpenalised columns, so that block indices are those of the design.
    block.coef_begin = part.coef_size;
    part.coef_size += block.coef_size;
  }
  return part;
}

/// U'X'WX U, where U spans the unpenalised space, scaled to unit diagonal (0 for zero columns); and the norms
/// of the columns.
struct Correlations {
  Matrix matrix;
  std::vector<double> norms;
};

Correlations correlations(const Matrix& gram) {
  Correlations out{gram, {}};
  for (int i = 0; i < gram.rows(); ++i) out.norms.push_back(std::sqrt(std::max(0.0, gram(i, i))));
  for (int j = 0; j < gram.cols(); ++j) {
    for (int i = 0; i < gram.rows(); ++i) {
      const double norms = out.norms[at(i)] * out.norms[at(j)];
      out.matrix(i, j) = norms > 0 ? gram(i, j) / norms : 0.0;
    }
  }
  return out;
}

/// Whether the residual of each column given all others exceeds rounding errors. Cholesky pivots do not show
/// this: after a nearly determined column, rounding errors grow by the inverse of its pivot.
bool independent(const Matrix& correlation) {
  const auto lower = cholesky(correlation);
  if (!lower) return false;
  const Matrix inverse = cholesky_inverse(*lower);
  for (int i = 0; i < inverse.rows(); ++i) {
    if (!(inverse(i, i) * doubt_tolerance < 1)) return false;
  }
  return true;
}

/// A design in which each smooth has its penalised coefficients first, then the unpenalised ones.
struct Separated {
  struct Penalised {
    int begin;
    Matrix penalty;
  };
  Design design;
  std::vector<int> penalised;  ///< penalised coefficients outside the sparse part
  std::vector<int> unpenalised;
  std::vector<Penalised> penalties;
};

/// The sum of a smooth's penalties, each of unit norm, in the coordinates of the columns of `basis`.
Matrix sum_of_unit_norms(const std::vector<Matrix>& penalties, const Matrix& basis) {
  Matrix sum(basis.cols(), basis.cols());
  for (const Matrix& s : penalties) {
    const Matrix part = multiply_tn(basis, multiply(s, basis));
    const double norm = std::sqrt(dot(part.values(), part.values()));
    for (std::size_t i = 0; i < sum.values().size(); ++i) sum.values()[i] += part.values()[i] / norm;
  }
  return sum;
}

/// The diagonal element of the multiple of the identity with unit Frobenius norm.
double unit_norm_ridge(int size) {
  return 1 / std::sqrt(static_cast<double>(size));
}

/// Transforms the block's coefficients so that penalised ones come first, then unpenalised ones. Returns the
/// penalty on the penalised ones; a single penalty gets unit eigenvalues. Diagonal penalties, which have no
/// null space, are not transformed.
Matrix separate(CoefBlock& block, const Penalty& penalty) {
  if (penalty.is_diagonal()) {
    Matrix sum(block.coef_size, block.coef_size);
    for (std::size_t j = 0; j < penalty.count(); ++j) {
      const auto own = penalty.eigenvalues.column(static_cast<int>(j));
      const double norm = std::sqrt(dot(own, own));
      for (int i = 0; i < sum.rows(); ++i) sum(i, i) += own[at(i)] / norm;
    }
    return sum;
  }
  const int free = penalty.null_space.cols();
  const int rank = block.coef_size - free;
  const Matrix q = free == 0 ? identity(block.coef_size) : full_q(penalty.null_space);
  Matrix penalised = submatrix(q, 0, block.coef_size, free, rank);
  Matrix sum = sum_of_unit_norms(penalty.matrices, penalised);
  if (penalty.matrices.size() == 1) {
    if (const auto lower = cholesky(sum)) {
      penalised = transpose(triangular_solve(*lower, transpose(penalised), false));
      sum = identity(rank);
    }
  }
  Matrix both(block.coef_size, block.coef_size);
  assign(both, 0, 0, penalised);
  assign(both, 0, rank, penalty.null_space);
  block.map = multiply(block.map, both);
  return sum;
}

Separated separated(const Design& design) {
  Separated out{design, {}, {}, {}};
  for (CoefBlock& block : out.design.blocks) {
    if (design.parted_columns.has(block.raw_begin)) continue;
    int rank = 0;
    if (block.penalty) {
      out.penalties.push_back({block.coef_begin, separate(block, *block.penalty)});
      rank = out.penalties.back().penalty.rows();
    }
    for (int i = 0; i < block.coef_size; ++i)
      (i < rank ? out.penalised : out.unpenalised).push_back(block.coef_begin + i);
  }
  return out;
}

void add_penalties(PartedMatrix& gram, const Separated& columns) {
  for (const auto& [block_begin, penalty] : columns.penalties) {
    const int begin = gram.in_core(block_begin);
    for (int c = 0; c < penalty.cols(); ++c) {
      for (int r = 0; r < penalty.rows(); ++r) gram.core(begin + r, begin + c) += penalty(r, c);
    }
  }
  for (const Part::Run& run : gram.part().runs()) {
    const auto first = gram.diagonal.begin() + gram.part().in_part(run.begin);
    for (auto value = first; value != first + run.size; ++value) *value += unit_norm_ridge(run.size);
  }
}

/// Schur complement of X'WX + S after eliminating the coefficients of the sparse part that `EliminationOrder`
/// selects. Rows: the remaining coefficients of the part, then those outside it. Empty if the elimination
/// fails.
Matrix without_part(PartedMatrix gram, const Algebra& algebra) {
  if (!gram.is_parted()) return std::move(gram.core);
  OrderedMatrix a = in_order(gram, std::make_shared<const EliminationOrder>(gram, std::vector<bool>()), {});
  const auto block = eliminate(a, a.diagonal, algebra);
  if (!block) return {};
  std::vector<double> inverse = block->diagonal;
  for (double& value : inverse) value = 1 / value;
  const Matrix explained = block->border(a).weighted_square(inverse, algebra);
  add_multiple(a.outer.values(), -1, explained.values());
  return std::move(a.outer);
}

/// Schur complement of X'WX plus the penalties, for the unpenalised columns. X'WX is divided by its trace.
/// Penalties are scaled to unit norm, or, if a smooth has only one, to unit eigenvalues.
Matrix beside_penalties(const PartedMatrix& raw_gram, const Design& design, const Algebra& algebra) {
  Separated columns = separated(design);
  PartedMatrix gram = gram_in_coefficients(raw_gram, columns.design, algebra);
  double trace = 0;
  for (int i = 0; i < gram.size(); ++i) trace += gram(i, i);
  gram.for_each_array([&](std::span<double> values) {
    for (double& value : values) value /= trace;
  });
  add_penalties(gram, columns);
  for (std::vector<int>* const list : {&columns.penalised, &columns.unpenalised}) {
    for (int& index : *list) index = gram.in_core(index);
  }
  const Matrix within = submatrix(gram.core, columns.unpenalised, columns.unpenalised);
  const int core_size = gram.core.rows();
  const Matrix core = without_part(std::move(gram), algebra);
  if (core.empty()) return within;
  const int left =
      core.rows() - core_size;  // coefficients of the sparse part that were not eliminated; all penalised
  for (std::vector<int>* const list : {&columns.penalised, &columns.unpenalised}) {
    for (int& index : *list) index += left;
  }
  for (int i = 0; i < left; ++i) columns.penalised.push_back(i);

  Matrix rest = submatrix(core, columns.unpenalised, columns.unpenalised);
  if (columns.penalised.empty()) return rest;
  const auto lower = cholesky(submatrix(core, columns.penalised, columns.penalised));
  if (!lower) return rest;
  const Matrix half =
      triangular_solve(*lower, submatrix(core, columns.penalised, columns.unpenalised), false);
  const Matrix explained = algebra.multiply(transpose(half), half);
  for (std::size_t i = 0; i < rest.values().size(); ++i) rest.values()[i] -= explained.values()[i];
  return rest;
}

/// A linear dependence: 0 = sum_k weights[k] (unpenalised column k), where weights[index] = 1.
struct Dependence {
  int index = 0;
  bool doubtful = false;
  std::vector<double> weights;
};

/// Computes the weights of the kept columns for each determined column.
void solve_weights(std::vector<Dependence>& found, const Correlations& columns,
                   const std::vector<int>& taken) {
  const int count = columns.matrix.rows();
  const int size = static_cast<int>(taken.size());
  std::vector<int> determined;
  determined.reserve(found.size());
  for (const Dependence& one : found) determined.push_back(one.index);
  const auto weights =
      solve(submatrix(columns.matrix, taken, taken), submatrix(columns.matrix, taken, determined));
  for (std::size_t j = 0; j < found.size(); ++j) {
    Dependence& one = found[j];
    one.weights.assign(at(count), 0.0);
    one.weights[at(one.index)] = 1;
    const double norm = columns.norms[at(one.index)];
    for (int i = 0; weights && norm > 0 && i < size; ++i) {
      one.weights[at(taken[at(i)])] =
          -(*weights)(i, static_cast<int>(j)) * norm / columns.norms[at(taken[at(i)])];
    }
  }
}

/// Finds dependent unpenalised columns by pivoting. The next pivot has the lowest value in `ranks`, a
/// priority, and among columns of equal priority the largest residual in `order`.
std::vector<Dependence> combinations(const Correlations& columns, Matrix order,
                                     const std::vector<int>& ranks) {
  const int count = columns.matrix.rows();
  Matrix rest = columns.matrix;
  std::vector<int> waiting(at(count));
  std::iota(waiting.begin(), waiting.end(), 0);
  std::vector<Dependence> found;
  std::vector<int> taken;
  while (!waiting.empty()) {
    std::erase_if(waiting, [&](int one) {
      if (rest(one, one) > doubt_tolerance) return false;
      found.push_back({one, rest(one, one) > dependence_tolerance, {}});
      return true;
    });
    if (waiting.empty()) break;
    int rank = ranks[at(waiting.front())];
    for (const int one : waiting) rank = std::min(rank, ranks[at(one)]);
    double most = 0;
    for (const int one : waiting) most = ranks[at(one)] == rank ? std::max(most, order(one, one)) : most;
    // Residuals that differ only by rounding count as equal: the first column is taken.
    const auto found_next = std::ranges::find_if(waiting, [&](int one) {
      return ranks[at(one)] == rank && order(one, one) >= (1 - equality_tolerance) * most;
    });
    const int next = found_next == waiting.end() ? waiting.front() : *found_next;
    project_out(rest, next);
    if (order(next, next) > 0) project_out(order, next);
    std::erase(waiting, next);
    taken.push_back(next);
  }
  if (!found.empty()) solve_weights(found, columns, taken);
  return found;
}

std::size_t block_at(const Design& unpenalised, int index) {
  const auto found = std::ranges::find_if(unpenalised.blocks, [&](const CoefBlock& block) {
    return index >= block.coef_begin && index < block.coef_begin + block.coef_size;
  });
  return at(found - unpenalised.blocks.begin());
}

/// Converts weights of unpenalised columns to coefficients of `design`.
std::vector<double> in_coefficients(std::span<const double> weights, const Design& design,
                                    const Design& unpenalised) {
  std::vector<double> coef(at(design.coef_size));
  for (std::size_t i = 0; i < design.blocks.size(); ++i) {
    const CoefBlock& from = unpenalised.blocks[i];
    const auto part = weights.subspan(at(from.coef_begin), at(from.coef_size));
    const CoefBlock& to = design.blocks[i];
    if (!to.penalty) {
      std::ranges::copy(part, coef.begin() + to.coef_begin);
    } else if (!part.empty()) {
      std::ranges::copy(multiply(to.penalty->null_space, part), coef.begin() + to.coef_begin);
    }
  }
  return coef;
}

/// Makes a smooth's coefficients orthogonal to `directions`, which are in its null space.
void hold_orthogonal(CoefBlock& block, const Matrix& directions) {
  if (!block.is_smooth())
    throw base::input_error(
        "'{}': other terms determine an unpenalised combination of its columns: leave out "
        "those terms, or penalise the combination",
        block.label);
  const int gone = directions.cols();
  const int kept = block.coef_size - gone;
  const Matrix z = submatrix(full_q(directions), 0, block.coef_size, gone, kept);
  Penalty& penalty = *block.penalty;
  const int free = penalty.null_space.cols();
  const Matrix along = multiply_tn(penalty.null_space, directions);
  const Matrix rest = submatrix(full_q(along), 0, free, gone, free - gone);
  penalty.null_space = multiply_tn(z, multiply(penalty.null_space, rest));
  for (Matrix& matrix : penalty.matrices) matrix = multiply_tn(z, multiply(matrix, z));
  penalty.eigenvectors = {};
  penalty.of_level = {};
  block.map = multiply(block.map, z);
  block.coef_size = kept;
  block.determined += gone;
  name_smooth(block);
}

void drop_columns(CoefBlock& block, const std::vector<int>& dropped) {
  Matrix map(block.raw_size, block.coef_size - static_cast<int>(dropped.size()));
  std::vector<std::string> names;
  for (int j = 0; j < block.coef_size; ++j) {
    if (std::ranges::find(dropped, j) != dropped.end()) continue;
    std::ranges::copy(block.map.column(j), map.column(static_cast<int>(names.size())).begin());
    names.push_back(block.names[at(j)]);
  }
  block.map = std::move(map);
  block.names = std::move(names);
  block.coef_size = block.map.cols();
}

using Relation = std::map<int, double>;  // a zero combination of the formula's raw columns: weight by column

void add_to(Relation& sum, const Relation& other, double factor, int without) {
  for (const auto& [column, weight] : other) {
    if (column != without) sum[column] += factor * weight;
  }
  sum.erase(without);
}

using Relations = std::vector<std::pair<int, Relation>>;  // one for each dropped raw column

Relations relations_of(const Design& design, std::span<const DeterminedColumn> columns) {
  const auto raw_of = [](const CoefBlock& block, int column) {
    const auto values = block.map.column(column);
    const auto selected = std::ranges::find_if(values, [](double v) { return v != 0; });
    return block.raw_begin + static_cast<int>(selected - values.begin());
  };
  const std::map<int, ColumnCombination> combinations(design.raw_combinations.begin(),
                                                      design.raw_combinations.end());
  Relations relations;
  for (const DeterminedColumn& one : columns) {
    if (one.column < 0) continue;
    Relation relation;
    for (const CoefBlock& block : design.blocks) {
      if (block.penalty) continue;
      for (int j = 0; j < block.coef_size; ++j) {
        const double weight = one.combination[at(block.coef_begin + j)];
        if (weight == 0) continue;
        for (const auto& [raw, factor] : combinations.at(raw_of(block, j))) relation[raw] += weight * factor;
      }
    }
    relations.emplace_back(raw_of(design.blocks[at(one.block)], one.column), std::move(relation));
  }
  return relations;
}

/// Replaces `column` in `sum` by the columns that determine it.
void substitute(Relation& sum, int column, const Relation& relation) {
  const auto found = sum.find(column);
  if (found == sum.end()) return;
  const double factor = found->second;
  add_to(sum, relation, factor, column);
}

/// Solves each relation for its dropped column, and eliminates the dropped column from the other relations.
void solve_each(Relations& relations) {
  const auto own = [](const auto& relation) {
    const auto found = relation.second.find(relation.first);
    return found == relation.second.end() ? 0.0 : std::abs(found->second);
  };
  for (auto next = relations.begin(); next != relations.end(); ++next) {
    std::iter_swap(next, std::max_element(next, relations.end(),
                                          [&](const auto& a, const auto& b) { return own(a) < own(b); }));
    auto& [column, relation] = *next;
    const double weight = relation[column];
    relation.erase(column);
    for (auto& part : relation) part.second = weight == 0 ? 0 : -part.second / weight;
    for (auto other = relations.begin(); other != relations.end(); ++other) {
      if (other != next) substitute(other->second, column, relation);
    }
  }
}

/// Replaces dropped columns in `raw_combinations` by the columns that determine them.
void replace_left_out(Design& design, std::span<const DeterminedColumn> columns) {
  if (design.raw_combinations.empty()) return;
  Relations relations = relations_of(design, columns);
  solve_each(relations);
  for (auto& [raw, combination] : design.raw_combinations) {
    Relation sum(combination.begin(), combination.end());
    for (const auto& [column, relation] : relations) {
      if (column != raw) substitute(sum, column, relation);
    }
    combination.assign(sum.begin(), sum.end());
  }
}

}  // namespace

void project_out(Matrix& gram, int pivot) {
  const std::vector<double> column(gram.column(pivot).begin(), gram.column(pivot).end());
  for (int j = 0; j < gram.cols(); ++j) {
    const double factor = column[at(j)] / column[at(pivot)];
    if (factor == 0) continue;
    for (int i = 0; i < gram.rows(); ++i) gram(i, j) -= column[at(i)] * factor;
  }
}

std::vector<DeterminedColumn> determined_columns(const PartedMatrix& raw_gram, const Design& design,
                                                 const Algebra& algebra) {
  const Design unpenalised = unpenalised_part(design);
  const Correlations columns = correlations(gram_in_coefficients(raw_gram, unpenalised, algebra).core);
  if (independent(columns.matrix)) return {};
  std::vector<int> ranks;
  for (std::size_t b = 0; b < design.blocks.size(); ++b) {
    const int of_smooth = design.blocks[b].is_smooth() ? 2 : 1;
    int rank = design.blocks[b].is_intercept() ? 0 : of_smooth;
    if (!design.readers.empty()) {
      const int formula = design.predictor_of(design.blocks[b]);
      if (design.common_readers(formula, formula) > 1) rank += 3;  // shared terms come last
    }
    ranks.insert(ranks.end(), at(unpenalised.blocks[b].coef_size), rank);
  }
  std::vector<DeterminedColumn> found;
  for (const Dependence& one : combinations(columns, beside_penalties(raw_gram, design, algebra), ranks)) {
    DeterminedColumn column;
    const std::size_t block = block_at(unpenalised, one.index);
    column.block = static_cast<int>(block);
    if (!design.blocks[block].penalty) column.column = one.index - unpenalised.blocks[block].coef_begin;
    column.zero = columns.norms[at(one.index)] == 0;
    column.doubtful = one.doubtful;
    column.combination = in_coefficients(one.weights, design, unpenalised);
    found.push_back(std::move(column));
  }
  return found;
}

std::string name_of(const DeterminedColumn& column, const Design& design) {
  const CoefBlock& block = design.blocks[at(column.block)];
  return column.column >= 0 ? block.names[at(column.column)] : block.label;
}

std::string determined_by(const DeterminedColumn& column, const Design& design) {
  const double most = largest(column.combination);
  std::string list;
  for (std::size_t b = 0; b < design.blocks.size(); ++b) {
    const CoefBlock& block = design.blocks[b];
    const auto part = std::span(column.combination).subspan(at(block.coef_begin), at(block.coef_size));
    const auto add = [&](const std::string& name) { list += (list.empty() ? "" : ", ") + name; };
    if (block.penalty) {
      const bool has_part = std::ranges::any_of(part, [&](double w) { return std::abs(w) > 1e-6 * most; });
      if (has_part && static_cast<int>(b) != column.block) add(block.label);
      continue;
    }
    for (int j = 0; j < block.coef_size; ++j) {
      const bool itself = static_cast<int>(b) == column.block && j == column.column;
      if (!itself && std::abs(part[at(j)]) > 1e-6 * most) add(block.names[at(j)]);
    }
  }
  return list;
}

Design without_determined(Design design, std::span<const DeterminedColumn> columns) {
  replace_left_out(design, columns);
  for (const DeterminedColumn& one : columns) {
    const std::string name = name_of(one, design);
    if (std::ranges::find(design.left_out, name) == design.left_out.end()) design.left_out.push_back(name);
  }
  for (std::size_t b = 0; b < design.blocks.size(); ++b) {
    CoefBlock& block = design.blocks[b];
    std::vector<int> dropped;
    std::vector<std::span<const double>> directions;
    for (const DeterminedColumn& one : columns) {
      if (at(one.block) != b) continue;
      dropped.push_back(one.column);
      directions.push_back(std::span(one.combination).subspan(at(block.coef_begin), at(block.coef_size)));
    }
    if (dropped.empty()) continue;
    if (!block.penalty) {
      drop_columns(block, dropped);
      continue;
    }
    Matrix along(block.coef_size, static_cast<int>(directions.size()));
    for (std::size_t j = 0; j < directions.size(); ++j) {
      std::ranges::copy(directions[j], along.column(static_cast<int>(j)).begin());
    }
    hold_orthogonal(block, along);
  }
  design.count_coefficients();
  return design;
}

}  // namespace TESSERA_NAMESPACE::gam
