// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/host_prediction.hpp"

#include "base/at.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace tessera::gam {

using base::at;

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
    if ((next - begin) % prepared_rows == 0)
      evaluator_.prepare(chunk, next, std::min<std::size_t>(end, next + prepared_rows));
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
  const double* form = form_.data() + product.begin;
  if (product.pairs >= 0) {
    for (int r = 0; r < chunk.count; ++r) {
      const double* a = row.values + std::ptrdiff_t{product.row_nonzeros} * r;
      const double* b = column.values + std::ptrdiff_t{product.column_nonzeros} * r;
      layout_.for_each_of_pair(product, chunk.index[at(r)], row.starts[r], column.starts[r],
                               [&](std::size_t i, std::size_t j, std::size_t sum) {
                                 variances[at(r)] += a[i] * b[j] * form[sum];
                               });
    }
    return;
  }
  apply_form(view_, product, chunk.count, row, column, form, variances.data());
}

}  // namespace tessera::gam
