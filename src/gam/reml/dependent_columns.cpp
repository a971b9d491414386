// SPDX-License-Identifier: Apache-2.0
#include "gam/reml/dependent_columns.hpp"

#include "base/at.hpp"
#include "gam/linalg/linalg.hpp"

#include <tessera/error.hpp>

#include <fmt/core.h>

#include <cmath>
#include <span>
#include <string>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

constexpr double tolerance = 1e-13;

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

/// The columns' crossproduct with unit diagonal; a column of zeros stays zero.
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

bool independent(const Matrix& correlation) {
  const auto lower = cholesky(correlation);
  if (!lower) return false;
  for (int i = 0; i < lower->rows(); ++i) {
    // Pivot i: the share of column i that the columns before it do not explain.
    if (!((*lower)(i, i) * (*lower)(i, i) > tolerance)) return false;
  }
  return true;
}

/// Labels of the other blocks that have a part in the combination R^-1 row of earlier columns.
std::string other_blocks_in(const Matrix& factor, std::span<const double> row,
                            const std::vector<Column>& columns) {
  std::vector<double> weights(row.begin(), row.end());
  for (int k = static_cast<int>(weights.size()) - 1; k >= 0; --k) {
    double& weight = weights[at(k)];
    weight /= factor(k, k);
    for (int m = 0; m < k; ++m) weights[at(m)] -= factor(m, k) * weight;
  }
  std::string labels;
  const CoefBlock* last = columns[weights.size()].block;
  for (std::size_t k = 0; k < weights.size(); ++k) {
    const CoefBlock* const block = columns[k].block;
    if (std::abs(weights[k]) < 1e-4 || block == last || block == columns[weights.size()].block) continue;
    last = block;
    labels += (labels.empty() ? "" : ", ") + last->label;
  }
  return labels;
}

}  // namespace

void refuse_dependent_columns(const PartedMatrix& gram, const Design& design,
                              const std::vector<BlockBasis>& bases) {
  const std::vector<Column> columns = unpenalised_columns(design, bases);
  for (const Column& column : columns) {
    if (gram(column.index, column.index) > 0) continue;
    throw Error(ErrorCode::input,
                fmt::format("the term {} has an unpenalised column that is zero in every row: remove the "
                            "term, or the level or combination of levels that has no rows",
                            column.block->label));
  }
  const Matrix correlation = correlations(gram, columns);
  if (independent(correlation)) return;

  // Once more, column by column, to say what depends on what. Column i of `factor` is row i of the root.
  const int count = correlation.rows();
  Matrix factor(count, count);
  for (int i = 0; i < count; ++i) {
    for (int k = 0; k < i; ++k) {
      const auto before = at(k);
      const double explained = dot(factor.column(k).first(before), factor.column(i).first(before));
      factor(k, i) = (correlation(k, i) - explained) / factor(k, k);
    }
    const auto row = factor.column(i).first(at(i));
    const double pivot = 1 - dot(row, row);
    if (!(pivot > tolerance)) {
      const std::string& label = columns[at(i)].block->label;
      const std::string others = other_blocks_in(factor, row, columns);
      throw Error(
          ErrorCode::input,
          others.empty()
              ? fmt::format("the columns of {} are linearly dependent: give it fewer coefficients, or "
                            "leave it out",
                            label)
              : fmt::format("the term {} is linearly dependent on {}: remove one of them", label, others));
    }
    factor(i, i) = std::sqrt(pivot);
  }
}

}  // namespace TESSERA_NAMESPACE::gam
