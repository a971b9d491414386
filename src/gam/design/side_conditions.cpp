// SPDX-License-Identifier: Apache-2.0
#include "gam/design/side_conditions.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "gam/basis/bases.hpp"
#include "gam/design/determined_columns.hpp"
#include "gam/design/general_penalty.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// A squared residual below this fraction of the column's squared norm is a rounding error of X'X.
constexpr double gram_tolerance = 1e-12;
/// Norms from X'X and from the sketch that agree within this factor are both accurate: the sketch is always
/// accurate to about ten per cent.
constexpr double agreement = 1.5;
/// A column is explained if its remainder is below this fraction of the largest earlier column, as in mgcv.
const double explained_tolerance = std::sqrt(std::numeric_limits<double>::epsilon());

using Identity = std::tuple<std::string, std::string, std::string>;  // variable, by variable, its level

int dimension(const CoefBlock& block) {
  return static_cast<int>(block.knots.size());
}

std::vector<Identity> identities(const CoefBlock& block) {
  const auto margins = at(dimension(block));
  const std::string by = block.variables.size() > margins ? block.variables.back() : "";
  std::vector<Identity> all;
  for (std::size_t i = 0; i < margins; ++i) all.emplace_back(block.variables[i], by, block.by_level);
  return all;
}

/// The power of two by which a block's columns are scaled.
double column_unit(const CoefBlock& block) {
  return block.by_scale * block.margin_scale;
}

bool share_a_variable(const CoefBlock& a, const CoefBlock& b) {
  const std::vector<Identity> theirs = identities(b);
  return std::ranges::any_of(identities(a), [&](const Identity& mine) {
    return std::find(theirs.begin(), theirs.end(), mine) != theirs.end();
  });
}

/// X'X from which columns are eliminated one by one; what remains is the Schur complement.
class Remainder {
 public:
  Remainder(const Matrix& gram, std::span<const int> columns) : rest_(submatrix(gram, columns, columns)) {
    for (int j = 0; j < rest_.cols(); ++j) squares_.push_back(rest_(j, j));
  }

  /// Eliminates the first `count` columns by descending residual, as long as the residual exceeds rounding.
  void take_out_first(int count) {
    std::vector<int> waiting(at(count));
    std::iota(waiting.begin(), waiting.end(), 0);
    for (;;) {
      std::erase_if(waiting,
                    [&](int one) { return !(rest_(one, one) > gram_tolerance * squares_[at(one)]); });
      if (waiting.empty()) return;
      const int next = largest_of(waiting);
      take_out(next);
      std::erase(waiting, next);
    }
  }
  /// The column with the largest residual among `columns`; ties: the first.
  [[nodiscard]] int largest_of(std::span<const int> columns) const {
    return *std::ranges::max_element(columns, {}, [&](int one) { return rest_(one, one); });
  }
  [[nodiscard]] double norm(int column) const { return std::sqrt(std::max(0.0, rest_(column, column))); }
  void take_out(int pivot) { project_out(rest_, pivot); }

 private:
  Matrix rest_;
  std::vector<double> squares_;
};

/// X'X of the centred columns, that is, after projecting out the constant.
Matrix centred(const ColumnSums& columns) {
  Matrix out = columns.gram;
  for (int j = 0; j < out.cols(); ++j) {
    const double mean = columns.sums[at(j)] / static_cast<double>(columns.rows);
    for (int i = 0; i < out.rows(); ++i) out(i, j) -= columns.sums[at(i)] * mean;
  }
  return out;
}

Matrix columns_of(const Matrix& a, std::span<const int> indices) {
  Matrix out(a.rows(), static_cast<int>(indices.size()));
  for (std::size_t j = 0; j < indices.size(); ++j)
    std::ranges::copy(a.column(indices[j]), out.column(static_cast<int>(j)).begin());
  return out;
}

/// QR with column pivoting of `left`, the sketched residuals of the columns from `before` on. The pivot is
/// the column of largest norm in X'X, which covers all rows. Once X'X disagrees with the sketch, what is left
/// of X'X is rounding errors, and the sketch selects the pivots.
PivotedQr pivoted_by(Remainder& remainder, int before, Matrix left) {
  const int count = left.cols();
  PivotedQr out{Matrix(count, count), {}};
  std::vector<int> waiting(at(count));
  std::iota(waiting.begin(), waiting.end(), 0);
  const auto norm = [&](int column) { return std::sqrt(dot(left.column(column), left.column(column))); };
  bool by_gram = true;
  while (!waiting.empty()) {
    int next = waiting.front();
    if (by_gram) {
      std::vector<int> shifted(waiting);
      for (int& one : shifted) one += before;
      next = remainder.largest_of(shifted) - before;
      const double length = remainder.norm(before + next);
      by_gram = length < agreement * norm(next) && norm(next) < agreement * length;
    }
    if (by_gram)
      remainder.take_out(before + next);
    else
      next = *std::ranges::max_element(waiting, {}, norm);
    const int row = static_cast<int>(out.pivots.size());
    out.pivots.push_back(next);
    const double length = norm(next);
    if (length == 0) {
      std::erase(waiting, next);
      continue;
    }
    std::vector<double> direction(left.column(next).begin(), left.column(next).end());
    for (double& value : direction) value /= length;
    for (const int one : waiting) {
      out.r(row, one) = dot(direction, left.column(one));
      add_multiple(left.column(one), -out.r(row, one), direction);
    }
    std::erase(waiting, next);
  }
  out.r = columns_of(out.r, out.pivots);
  return out;
}

/// Number of trailing columns of a pivoted QR with remainders below `least`: mgcv's `fixDependence`.
int explained_by_mean(const Matrix& r, double least) {
  int independent = r.rows();
  double sum = 0;
  // The mean is over the whole trailing square, including the zeros below its diagonal.
  for (; independent > 0; --independent) {
    const int row = independent - 1;
    for (int j = row; j < r.cols(); ++j) sum += std::abs(r(row, j));
    const auto size = static_cast<double>(r.rows() - row);
    if (!(sum / (size * size) < least)) break;
  }
  return r.cols() - independent;
}

class SideConditions {
 public:
  SideConditions(const Design& design, const ColumnSums& columns, bool constant)
      : design_(design),
        columns_(columns),
        constant_(constant),
        gram_(constant_ ? centred(columns) : columns.gram),
        dropped_(design.blocks.size()) {}

  void apply(const NestedSmooth& nested) {
    // Squared norm of the largest earlier column, in the user's units.
    double square = constant_ ? static_cast<double>(columns_.rows) : 0.0;
    std::vector<int> indices;
    for (const int before : nested.before) {
      const CoefBlock& block = block_of(before);
      const std::vector<int>& gone = dropped_[at(before)];
      for (int i = 0; i < block.coef_size; ++i) {
        if (std::binary_search(gone.begin(), gone.end(), i)) continue;
        const int index = block.coef_begin + i;
        indices.push_back(index);
        square = std::max(square, columns_.gram(index, index) / (column_unit(block) * column_unit(block)));
      }
    }
    const CoefBlock& own = block_of(nested.block);
    std::vector<int> own_indices(at(own.coef_size));
    std::iota(own_indices.begin(), own_indices.end(), own.coef_begin);

    const PivotedQr qr = unexplained_part(indices, own_indices);
    const int explained = explained_by_mean(qr.r, explained_tolerance * std::sqrt(square) * column_unit(own));
    if (explained == own.coef_size) {
      throw base::input_error(
          "the smooth {} adds nothing to the model, because {} contains it: leave the smooth out", own.label,
          labels(nested.before));
    }
    std::vector<int>& gone = dropped_[at(nested.block)];
    gone.assign(qr.pivots.end() - explained, qr.pivots.end());
    std::ranges::sort(gone);
  }

  [[nodiscard]] std::vector<std::vector<int>> dropped() && { return std::move(dropped_); }

 private:
  [[nodiscard]] const CoefBlock& block_of(int index) const { return design_.blocks[at(index)]; }
  [[nodiscard]] std::string labels(std::span<const int> blocks) const {
    std::string text;
    for (const int block : blocks) text += (text.empty() ? "" : " + ") + block_of(block).label;
    return text;
  }

  /// QR of the residuals of the columns `own`, given the constant and the columns `before`.
  [[nodiscard]] PivotedQr unexplained_part(std::span<const int> before, std::span<const int> own) const {
    std::vector<int> all(before.begin(), before.end());
    all.insert(all.end(), own.begin(), own.end());
    const int count = static_cast<int>(before.size());
    Remainder remainder(gram_, all);
    remainder.take_out_first(count);

    Matrix first(columns_.sketch.rows(), count + (constant_ ? 1 : 0));
    assign(first, 0, 0, columns_of(columns_.sketch, before));
    if (constant_) std::ranges::copy(columns_.sketched_ones, first.column(count).begin());
    // The triangular factor has columns with the same norms and angles as the sketched residuals.
    const PivotedQr left = pivoted_qr(unexplained(first, columns_of(columns_.sketch, own)));
    Matrix triangle(left.r.rows(), left.r.cols());
    for (int j = 0; j < triangle.cols(); ++j)
      std::ranges::copy(left.r.column(j), triangle.column(left.pivots[at(j)]).begin());
    PivotedQr qr = pivoted_by(remainder, count, std::move(triangle));
    // Corrects the sketch: after i columns, m rows keep (m - i) / m of a residual's square on average.
    for (int i = 0; i < qr.r.rows(); ++i) {
      const double left_rows = columns_.sketch.rows() - first.cols() - i;
      const double longer = std::sqrt(columns_.sketch.rows() / left_rows);
      for (int j = i; j < qr.r.cols(); ++j) qr.r(i, j) *= longer;
    }
    return qr;
  }

  const Design& design_;
  const ColumnSums& columns_;
  bool constant_;
  Matrix gram_;
  std::vector<std::vector<int>> dropped_;
};

/// The sum of a smooth's penalties, each scaled to the size of the columns that it penalises.
Matrix sum_of_sizes(const CoefBlock& block, const ColumnSums& columns) {
  Matrix sum(block.coef_size, block.coef_size);
  for (std::size_t j = 0; j < block.penalty->count(); ++j) {
    const Matrix penalty = block.penalty->matrix(j);
    double squares = 0;
    double elements = 0;
    int seen = 0;
    for (int c = 0; c < penalty.cols(); ++c) {
      double of_column = 0;
      for (const double element : penalty.column(c)) of_column += std::abs(element);
      if (of_column == 0) continue;
      ++seen;
      elements += of_column;
      squares += columns.gram(block.coef_begin + c, block.coef_begin + c);
    }
    // Scale: size of the columns (mean square) divided by the size of the penalty (mean element).
    if (seen > 0)
      add_multiple(sum.values(), squares * seen / static_cast<double>(columns.rows) / elements,
                   penalty.values());
  }
  return sum;
}

void drop(CoefBlock& block, std::span<const int> dropped) {
  std::vector<int> kept;
  for (int i = 0; i < block.coef_size; ++i) {
    if (!std::binary_search(dropped.begin(), dropped.end(), i)) kept.push_back(i);
  }
  std::vector<int> raw(at(block.raw_size));
  std::iota(raw.begin(), raw.end(), 0);
  block.map = submatrix(block.map, raw, kept);
  block.coef_size = static_cast<int>(kept.size());
  block.dropped.assign(dropped.begin(), dropped.end());
  if (!block.penalty) {
    std::vector<std::string> names;
    names.reserve(kept.size());
    for (const int i : kept) names.push_back(block.names[at(i)]);
    block.names = std::move(names);
    return;
  }
  Penalty& penalty = *block.penalty;
  std::vector<Matrix> matrices;
  std::vector<double> scales;
  std::vector<std::string> penalty_names;
  std::vector<std::string> ids;
  std::vector<double> log_sp;
  for (std::size_t j = 0; j < penalty.matrices.size(); ++j) {
    Matrix part = submatrix(penalty.matrices[j], kept, kept);
    if (!(largest(part.values()) > rank_tolerance * largest(penalty.matrices[j].values()))) continue;
    matrices.push_back(std::move(part));
    scales.push_back(block.s_scale[j]);
    if (!block.penalty_names.empty()) penalty_names.push_back(block.penalty_names[j]);
    if (!block.ids.empty()) ids.push_back(block.ids[j]);
    if (!block.log_sp.empty()) log_sp.push_back(block.log_sp[j]);
  }
  if (matrices.empty() && !penalty.matrices.empty()) {
    throw base::input_error(
        "the penalty of {} becomes zero by the side conditions for the smooths that it contains: give a "
        "larger k, or leave this smooth out",
        block.label);
  }
  if (matrices.size() > most_general_penalties)
    throw base::input_error(
        "{} has {} smoothing parameters, more than the {} that can be estimated together with a smooth that "
        "it contains: write full=FALSE, or take fewer margins",
        block.label, matrices.size(), most_general_penalties);
  penalty.matrices = std::move(matrices);
  penalty.eigenvectors = {};
  block.s_scale = std::move(scales);
  block.penalty_names = std::move(penalty_names);
  block.ids = std::move(ids);
  block.log_sp = std::move(log_sp);
  derive_from_matrices(penalty, block.coef_size);
  name_smooth(block);
}

}  // namespace

std::vector<NestedSmooth> nested_smooths(const Design& design) {
  std::vector<int> order;
  for (std::size_t i = 0; i < design.blocks.size(); ++i) {
    const CoefBlock& block = design.blocks[i];
    // Random effects and factor smooths are exempt, as in mgcv.
    if (block.is_smooth() && !is_random_effect(block.kind) && !block.is_factor_smooth())
      order.push_back(static_cast<int>(i));
  }
  const auto block_of = [&](int index) -> const CoefBlock& { return design.blocks[at(index)]; };
  std::ranges::stable_sort(order, {}, [&](int index) { return dimension(block_of(index)); });

  std::vector<NestedSmooth> nested;
  for (std::size_t i = 0; i < order.size(); ++i) {
    NestedSmooth one{order[i], {}};
    for (std::size_t earlier = 0; earlier < i; ++earlier) {
      if (share_a_variable(block_of(order[i]), block_of(order[earlier])))
        one.before.push_back(order[earlier]);
    }
    if (!one.before.empty()) nested.push_back(std::move(one));
  }
  return nested;
}

bool has_constant(const Design& design) {
  return std::ranges::any_of(design.blocks, [&](const CoefBlock& block) {
    if (block.penalty) return false;
    if (block.is_intercept()) return true;
    const auto term = std::ranges::find(design.terms, block.raw_begin, &RawTerm::raw_begin);
    return block.coef_size == block.raw_size &&
           std::ranges::all_of(term->components, [](const Component& component) {
             return component.kind == Component::Kind::factor;
           });
  });
}

ColumnSums with_penalties(ColumnSums columns, const Design& design) {
  const int rows = columns.sketch.rows();
  Matrix sketch(rows + design.coef_size, design.coef_size);
  assign(sketch, 0, 0, columns.sketch);
  for (const CoefBlock& block : design.blocks) {
    if (!block.penalty) continue;
    const Matrix sum = sum_of_sizes(block, columns);
    const SymmetricEigen eigen = symmetric_eigen(sum);
    for (int i = 0; i < sum.rows(); ++i) {
      const double value = eigen.values[at(i)];
      const double root = value > rank_tolerance * eigen.values.back() ? std::sqrt(value) : 0;
      for (int j = 0; j < sum.cols(); ++j) {
        columns.gram(block.coef_begin + i, block.coef_begin + j) += sum(i, j);
        sketch(rows + block.coef_begin + i, block.coef_begin + j) = root * eigen.vectors(j, i);
      }
    }
  }
  columns.sketch = std::move(sketch);
  columns.sketched_ones.resize(at(columns.sketch.rows()));
  return columns;
}

std::vector<std::vector<int>> dependent_columns(const Design& design, std::span<const NestedSmooth> nested,
                                                const ColumnSums& columns, bool constant) {
  SideConditions conditions(design, columns, constant);
  for (const NestedSmooth& one : nested) conditions.apply(one);
  return std::move(conditions).dropped();
}

Design without_columns(Design design, const std::vector<std::vector<int>>& dropped) {
  for (std::size_t i = 0; i < dropped.size(); ++i) {
    if (!dropped[i].empty()) drop(design.blocks[i], dropped[i]);
  }
  design.count_coefficients();
  return design;
}

}  // namespace TESSERA_NAMESPACE::gam
