// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/host_prediction.hpp"

#include "base/at.hpp"
#include "base/vectors.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace tessera::gam {
namespace {

using base::at;
using Two = base::Vectors<2>;

/// The products of a row's nonzeros with the numbers where a step adds them, summed. Where column offsets
/// come in fours, four at a time.
double sum_of_row(const Product& product, const double* corner, const double* a, const double* b,
                  const std::int64_t* lines, const int* offsets) {
  double sum = 0;
  for (int i = 0; i < product.row_nonzeros; ++i) {
    const double* line = corner + lines[i];
    double of_line = 0;
    if (product.runs_of_four) {
      // Below its diagonal a symmetric form is zero, or is not there.
      Two::Doubles low{};
      Two::Doubles high{};
      for (int j = product.symmetric ? i / 4 * 4 : 0; j < product.column_nonzeros; j += 4) {
        low += Two::at(line + offsets[j]) * Two::at(b + j);
        high += Two::at(line + offsets[j] + 2) * Two::at(b + j + 2);
      }
      low += high;
      of_line = low[0] + low[1];
    } else {
      for (int j = 0; j < product.column_nonzeros; ++j) of_line += line[offsets[j]] * b[j];
    }
    sum += a[i] * of_line;
  }
  return sum;
}

}  // namespace

HostPrediction::HostPrediction(const Rows& rows, const RowLayout& layout, std::span<const double> raw_coef,
                               std::span<const double> form, bool response)
    : rows_(rows),
      layout_(layout),
      view_(layout.view()),
      evaluator_(rows, layout),
      raw_coef_(raw_coef),
      form_(form),
      response_(response) {}

void HostPrediction::predict(std::size_t begin, std::size_t end, std::span<Prediction> out) const {
  RowChunk chunk(layout_);
  std::array<double, chunk_rows> variances{};
  for (std::size_t next = begin; next < end; next += chunk_rows) {
    evaluator_.gather(chunk, next, std::min<std::size_t>(end, next + chunk_rows));
    for (int term = 0; term < view_.term_count; ++term) {
      evaluator_.evaluate_term(term, chunk);
      evaluator_.add_predictor(term, raw_coef_, chunk);
    }
    if (!form_.empty()) {
      variances.fill(0);
      for (const Product& product : layout_.products_of_terms()) add_product(product, chunk, variances);
    }
    for (int r = 0; r < chunk.count; ++r) {
      Prediction& prediction = out[chunk.index[at(r)] - begin];
      prediction.fit = chunk.eta[at(r)];
      if (!form_.empty()) prediction.se = std::sqrt(not_negative(variances.at(at(r))));
      if (response_) {
        prediction.se *= std::abs(rows_.family.derivative(prediction.fit));
        prediction.fit = rows_.family.mean(prediction.fit);
      }
    }
  }
}

void HostPrediction::add_product(const Product& product, const RowChunk& chunk,
                                 std::span<double> variances) const {
  const auto row = side_of(view_, chunk, chunk.values, product.row_term, product.row_placement);
  const auto column = side_of(view_, chunk, chunk.values, product.column_term, product.column_placement);
  const std::int64_t* lines = view_.lines + product.line_begin;
  const int* offsets = view_.offsets + product.offset_begin;
  const double* form = form_.data() + product.begin;
  if (product.pairs >= 0) {
    const std::int32_t* places = layout_.places_of(product);
    for (int r = 0; r < chunk.count; ++r) {
      const std::int32_t place = places[chunk.index[at(r)]];
      if (place >= 0) variances[at(r)] += row.values[r] * column.values[r] * form[place];
    }
    return;
  }
  for (int r = 0; r < chunk.count; ++r) {
    const double* corner = form + row.starts[r] * std::int64_t{product.columns} + column.starts[r];
    variances[at(r)] +=
        sum_of_row(product, corner, row.values + static_cast<std::ptrdiff_t>(r) * product.row_nonzeros,
                   column.values + static_cast<std::ptrdiff_t>(r) * product.column_nonzeros, lines, offsets);
  }
}

}  // namespace tessera::gam
