// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/rows_view.hpp"

#include <cstdint>

namespace TESSERA_NAMESPACE::gam {

/// Maximum sums of a task in shared memory, over all workers: 48 KiB, available on every device.
inline constexpr int shared_elements = 6144;
/// Maximum number of sums per worker: at least four workers share a task's rows.
inline constexpr int task_elements = shared_elements / 4;

/// Number of threads that add a row to a product: its pairs of nonzeros, rounded up to a power of two <= 32.
[[nodiscard]] constexpr int lanes_for(int pairs) {
  int lanes = 1;
  while (lanes < pairs && lanes < 32) lanes *= 2;
  return lanes;
}

/// A part of one product's sums in shared memory. Each worker has `lanes_for` threads and separate sums.
struct Task {
  int product;
  int elements;
  int workers;
  std::int64_t begin;       ///< index of the first sum within the product
  std::int64_t row_values;  ///< offset in the batch's values, as in TermTable
  std::int64_t column_values;
  int plane;  ///< weight plane
};

struct SliceBatchView : RowsView {
  int response;      ///< index of the variable
  int limit;         ///< -1: responses have no second number
  int prior_weight;  ///< -1: all ones
  double prior_factor;
  /// readers[f * predictors + p] is 1 if predictor p has formula f. Null: formula p is predictor p.
  const std::uint8_t* readers;
  int planes;  ///< number of weight planes
  std::int64_t width;
  int scalar_count;
  /// By plane, then by row. One linear predictor has one plane. Several have planes of minus the second
  /// derivatives of the log-likelihood by pair of predictors, then of its gradient.
  double* weights;
  double* roots;     ///< square roots of the weights, for tensor cores; null: not needed
  double* scalars;   ///< by scalar, then by row
  double* partials;  ///< by slice, then by element
};

/// Inputs and output of a prediction.
struct PredictionView {
  const double* form;  ///< `variance_form`; null: no standard errors
  int product_count;   ///< number of `RowLayout::products_of_terms`
  const Product* products;
  double* out;  ///< prediction and standard error of each row
};

}  // namespace TESSERA_NAMESPACE::gam
