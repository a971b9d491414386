// SPDX-License-Identifier: Apache-2.0
#include "gam/reml/dependent_columns.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/robust_cholesky.hpp"

#include <tessera/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

constexpr double tolerance = 1e-13;
/// Pivots above this are accurate: after a pivot p, the rounding of a column's square is about 1e-16 / p.
constexpr double clear = 1e-4;

struct Column {
  int index;
  const CoefBlock* block;
};

std::vector<Column> unpenalised_columns(const Design& design, const std::vector<BlockBasis>& bases) {
  std::vector<Column> columns;
  auto basis = bases.begin();
  for (const CoefBlock& block : design.blocks) {
    const int penalised = block.penalty ? (basis++)->rank : 0;
    for (int i = penalised; i < block.coef_size; ++i) columns.push_back({block.coef_begin + i, &block});
  }
  return columns;
}

/// The crossproduct of the columns, scaled to a unit diagonal. A zero column stays zero.
Matrix correlations(const PartedMatrix& gram, const std::vector<Column>& columns) {
  std::vector<double> inverse_norms;
  for (const Column& column : columns) {
    const double square = gram(column.index, column.index);
    inverse_norms.push_back(square > 0 ? 1 / std::sqrt(square) : 0.0);
  }
  const int count = static_cast<int>(columns.size());
  Matrix out(count, count);
  for (int j = 0; j < count; ++j) {
    const auto b = at(j);
    for (int i = 0; i < count; ++i) {
      const auto a = at(i);
      out(i, j) = gram(columns[a].index, columns[b].index) * inverse_norms[a] * inverse_norms[b];
    }
  }
  return out;
}

/// Cheap sufficient test by a Cholesky factor without pivoting.
bool clearly_independent(const Matrix& correlation) {
  const auto lower = cholesky(correlation);
  if (!lower) return false;
  for (int i = 0; i < lower->rows(); ++i) {
    // The squared pivot is the residual of column i given the preceding columns.
    if (!((*lower)(i, i) * (*lower)(i, i) > clear)) return false;
  }
  return true;
}

/// Indices of column `i` of a QR of this rank and of the columns that determine it, ascending.
std::vector<int> dependency(const PivotedQr& qr, int rank, int i) {
  std::vector<double> weights(qr.r.column(i).begin(), qr.r.column(i).begin() + rank);
  std::vector<int> all{qr.pivots[at(i)]};
  for (int k = rank - 1; k >= 0; --k) {
    double& weight = weights[at(k)];
    weight /= qr.r(k, k);
    add_multiple(std::span(weights).first(at(k)), -weight, qr.r.column(k).first(at(k)));
    if (std::abs(weight) > 1e-4) all.push_back(qr.pivots[at(k)]);
  }
  std::ranges::sort(all);
  return all;
}

[[noreturn]] void refuse(const std::vector<int>& dependent, const std::vector<Column>& columns) {
  const CoefBlock* const block = columns[at(dependent.back())].block;
  const CoefBlock* last = block;
  std::string others;
  for (const int index : dependent) {
    const CoefBlock* const other = columns[at(index)].block;
    if (other == block || other == last) continue;
    last = other;
    others += (others.empty() ? "" : ", ") + other->label;
  }
  throw Error(
      ErrorCode::input,
      others.empty()
          ? fmt::format("the columns of {} are linearly dependent: use a smaller k, or remove the term",
                        block->label)
          : fmt::format("the term {} is linearly dependent on {}: remove one of them", block->label, others));
}

}  // namespace

void refuse_dependent_columns(const PartedMatrix& gram, const Design& design,
                              const std::vector<BlockBasis>& bases) {
  const std::vector<Column> columns = unpenalised_columns(design, bases);
  for (const Column& column : columns) {
    if (gram(column.index, column.index) > 0) continue;
    throw base::input_error(
        "the term {} has an unpenalised column that is zero in every row: remove the term, or remove the "
        "levels or combinations of levels without rows",
        column.block->label);
  }
  const Matrix correlation = correlations(gram, columns);
  if (clearly_independent(correlation)) return;

  // Repeat the test with column pivoting, which limits rounding errors. Without pivoting, the result would
  // depend on the arbitrary order of a null space's basis.
  const PivotedQr qr = pivoted_qr(transpose(robust_cholesky(correlation)));
  const int count = correlation.rows();
  int rank = 0;
  while (rank < count && qr.r(rank, rank) * qr.r(rank, rank) > tolerance) ++rank;
  if (rank == count) return;
  // Report the dependency that ends at the earliest column.
  std::vector<int> first = dependency(qr, rank, rank);
  for (int i = rank + 1; i < count; ++i) {
    std::vector<int> next = dependency(qr, rank, i);
    if (next.back() < first.back()) first = std::move(next);
  }
  refuse(first, columns);
}

}  // namespace TESSERA_NAMESPACE::gam
