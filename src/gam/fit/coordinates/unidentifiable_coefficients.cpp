// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/coordinates/unidentifiable_coefficients.hpp"

#include "base/at.hpp"
#include "base/message.hpp"
#include "gam/data/frame/sampled_rows.hpp"
#include "gam/design/coefficient_sums.hpp"
#include "gam/design/determined_columns.hpp"
#include "gam/design/side_conditions.hpp"
#include "gam/fit/coordinates/block_sketch.hpp"
#include "gam/fit/coordinates/crowded_variables.hpp"
#include "gam/linalg/algebra.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"
#include "gam/rows/row_reader.hpp"

#include <tessera/error.hpp>
#include <tessera/job/together.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// Indices of the nested smooths and of the smooths that they may contain, in the order of the blocks.
std::vector<int> compared_blocks(const Design& design, std::span<const NestedSmooth> nested) {
  std::vector<int> indices;
  for (std::size_t i = 0; i < design.blocks.size(); ++i) {
    const int index = static_cast<int>(i);
    const bool compared = std::ranges::any_of(nested, [&](const NestedSmooth& one) {
      return one.block == index || std::ranges::find(one.before, index) != one.before.end();
    });
    if (compared) indices.push_back(index);
  }
  return indices;
}

void set_sketch(ColumnSums& columns, const Matrix& raw, const Design& compact) {
  const auto ones = raw.column(compact.raw_size);
  columns.sketched_ones.assign(ones.begin(), ones.end());
  columns.sketch = Matrix(raw.rows(), compact.coef_size);
  for (const CoefBlock& block : compact.blocks) {
    assign(columns.sketch, 0, block.coef_begin,
           multiply(submatrix(raw, 0, raw.rows(), block.raw_begin, block.raw_size), block.map));
  }
}

}  // namespace

Design with_side_conditions(Job& job, const Rows& rows, Design design, const RawMoments& moments,
                            const PartedMatrix& raw_gram) {
  const std::vector<int> indices = compared_blocks(design, nested_smooths(design));
  const BlockSketch sketch = sketch_of_blocks(job, *rows.frame, design, indices, raw_gram);
  const Design& part = sketch.part;
  ColumnSums columns;
  std::vector<std::vector<int>> dropped;
  together(job.comm(), [&] {
    if (job.comm().rank() != 0) return;
    columns.gram = gram_in_coefficients(raw_gram, part, HostAlgebra(job.threads())).core;
    columns.sums = to_coefficients(moments.column_sums, part);
    columns.rows = rows.frame->complete_rows;
    set_sketch(columns, sketch.raw, sketch.compact);
    if (design.coef_size > columns.rows) columns = with_penalties(std::move(columns), part);
    dropped = dependent_columns(part, nested_smooths(part), columns, has_constant(design));
  });
  base::broadcast_values(job.comm(), 0, dropped);
  std::vector<std::vector<int>> of_all(design.blocks.size());
  for (std::size_t i = 0; i < indices.size(); ++i) of_all[at(indices[i])] = std::move(dropped[i]);
  return without_columns(std::move(design), of_all);
}

namespace {

/// *Collective.* Returns the columns that are dependent in a sample of the rows too: X'WX has only half the
/// digits of X, and may show a false dependence. Throws if a column is neither confirmed nor doubtful.
std::vector<DeterminedColumn> confirmed_in_sample(const Job& job, const Rows& rows, const Design& design,
                                                  std::vector<DeterminedColumn> columns) {
  const Workers workers{job.comm(), job.host_team()};
  const Frame& frame = *rows.frame;
  constexpr double rounding = 1e-9;
  std::vector<double> largest(2 * columns.size());  // by column: max |sum|, max sum of |terms|
  std::vector<double> x(at(design.coef_size));
  // By linear predictor: sum, and sum of absolute values. A dependence must hold in each predictor.
  std::vector<std::pair<double, double>> sums(at(design.predictors()));
  RowReader reader(frame, design);
  for (const std::int64_t row : local_sample(workers, frame)) {
    reader.coefficient_row(at(row), x);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      std::ranges::fill(sums, std::pair(0.0, 0.0));
      for (const CoefBlock& block : design.blocks) {
        design.for_each_reader(design.predictor_of(block), [&](int predictor) {
          auto& [sum, size] = sums[at(predictor)];
          for (auto j = at(block.coef_begin); j < at(block.coef_begin + block.coef_size); ++j) {
            const double term = columns[i].combination[j] * x[j];
            sum += term;
            size += std::abs(term);
          }
        });
      }
      for (const auto& [sum, size] : sums) {
        largest[2 * i] = std::max(largest[2 * i], std::abs(sum));
        largest[2 * i + 1] = std::max(largest[2 * i + 1], size);
      }
    }
  }
  if (!largest.empty()) workers.comm.allreduce(std::span(largest), mpi::Reduction::max);
  std::vector<DeterminedColumn> confirmed;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].zero || !(largest[2 * i] > rounding * largest[2 * i + 1])) {
      confirmed.push_back(std::move(columns[i]));
      continue;
    }
    if (columns[i].doubtful) continue;
    const std::string others = determined_by(columns[i], design);
    const std::string crowd = crowding(job, rows, design.blocks[at(columns[i].block)]);
    std::string what = others.empty() ? fmt::format(
                                            "the unpenalised functions of {} are almost linearly dependent, "
                                            "so their coefficients cannot be computed in double precision",
                                            name_of(columns[i], design))
                                      : fmt::format(
                                            "{} is almost a linear combination of {}, so the coefficient of "
                                            "the former cannot be computed in double precision",
                                            name_of(columns[i], design), others);
    what += !crowd.empty() ? ": " + crowd
            : others.empty()
                ? ": remove the term"
                : ": remove the term, or replace the variable by its difference from the combination";
    throw Error(ErrorCode::input, what);
  }
  return confirmed;
}

}  // namespace

std::vector<DeterminedColumn> find_determined_columns(Job& job, const Design& design,
                                                      const PartedMatrix& raw_gram) {
  std::vector<DeterminedColumn> columns;
  together(job.comm(), [&] {
    if (job.comm().rank() == 0) columns = determined_columns(raw_gram, design, HostAlgebra(job.threads()));
  });
  base::broadcast_values(job.comm(), 0, columns);
  return columns;
}

Design without_determined_columns(Job& job, const Rows& rows, Design design, const PartedMatrix& raw_gram,
                                  const ChangedDesign* orthogonal) {
  const Design& own = orthogonal != nullptr ? orthogonal->design : design;
  std::vector<DeterminedColumn> columns = find_determined_columns(job, own, raw_gram);
  if (!columns.empty()) columns = confirmed_in_sample(job, rows, own, std::move(columns));
  if (columns.empty()) return design;
  for (DeterminedColumn& column : columns) {
    if (orthogonal != nullptr)
      column.combination = orthogonal->change.coefficients_of_formula(column.combination);
  }
  return without_determined(std::move(design), columns);
}

}  // namespace TESSERA_NAMESPACE::gam
