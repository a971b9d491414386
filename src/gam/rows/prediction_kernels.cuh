// SPDX-License-Identifier: Apache-2.0
// The kernel that predicts rows, compiled at run time for one model: one thread per row.
#include "gam/rows/prediction_view.hpp"
#include "gam/rows/terms.cuh"

#include <cstdint>

namespace TESSERA_NAMESPACE::gam {

/// The sum over pairs of nonzeros of two terms in a row, each product times the form's element for it.
template <int row_nonzeros, int column_nonzeros>
double sum_of_row(const PredictionView& view, const Product& product, std::int64_t at) {
  const double* a = view.values + fixed::terms[product.row_term].value_begin * view.count + at;
  const double* b = view.values + fixed::terms[product.column_term].value_begin * view.count + at;
  const std::int64_t row_start = view.starts[product.row_placement * view.count + at];
  // In a symmetric product the column term has no start of its own.
  const std::int64_t column_start =
      product.symmetric ? 0 : view.starts[product.column_placement * view.count + at];
  const double* corner = view.form + product.begin + row_start * product.columns + column_start;
  const long long* lines = fixed::lines + product.line_begin;
  const int* offsets = fixed::offsets + product.offset_begin;
  double sum = 0;
  for (int i = 0; i < row_nonzeros; ++i) {
    const double* line = corner + lines[i];
    double of_line = 0;
    // Skip elements below the diagonal of a symmetric form, which are zero or not stored.
    for (int j = product.symmetric ? i : 0; j < column_nonzeros; ++j)
      of_line += line[offsets[j]] * b[j * view.count];
    sum += a[i * view.count] * of_line;
  }
  return sum;
}

/// Evaluates term t, stores its values for the products, and returns its contribution to the predictor.
template <int t>
double evaluate_term(const PredictionView& view, std::int64_t row, std::int64_t at) {
  constexpr TermTable term = fixed::terms[t];
  const EvaluatedTerm<t> here = evaluate<t>(view, row);
  if constexpr (fixed::standard_errors) {
#pragma unroll
    for (int k = 0; k < term.nonzeros; ++k)
      view.values[(term.value_begin + k) * view.count + at] = here.values[k];
#pragma unroll
    for (int p = 0; p < placements_of(term); ++p)
      view.starts[(term.placement_begin + p) * view.count + at] = here.starts[p];
  }
  return sum_with<t>(here, view.raw_coef);
}

// Grid: one thread per row.
extern "C" __global__ void __launch_bounds__(threads_per_block) predict(PredictionView view) {
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= view.count) return;
  const std::int64_t row = view.first + at;
  constexpr double missing = std::numeric_limits<double>::quiet_NaN();
  double fit = missing;
  double se = missing;
  if (view.columns.complete[row] != 0) {
    fit = offset_of(view, row);
    fixed::for_each_term([&](auto t) { fit += evaluate_term<decltype(t)::value>(view, row, at); });
    if constexpr (fixed::standard_errors) {
      double variance = 0;
      for (int p = 0; p < view.product_count; ++p) {
        const Product product = view.products[p];
        fixed::with_shape(product.row_nonzeros, product.column_nonzeros, [&](auto rows, auto columns) {
          variance += sum_of_row<decltype(rows)::value, decltype(columns)::value>(view, product, at);
        });
      }
      se = sqrt(not_negative(variance));
    }
    if constexpr (fixed::predicts_mean) {
      const auto family = fixed::family_of(view.parameters);
      if constexpr (fixed::standard_errors) se *= fabs(family.derivative(fit));
      fit = family.mean(fit);
    }
  }
  view.out[2 * at] = fit;
  view.out[2 * at + 1] = se;
}

}  // namespace TESSERA_NAMESPACE::gam
