// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/rows_view.hpp"

#include <cstdint>

namespace TESSERA_NAMESPACE::gam {

/// Number of sums of one task in shared memory, over all its workers: 48 KiB, which every device has.
inline constexpr int shared_elements = 6144;
/// Maximum number of sums per worker of a task, so that at least four workers share its rows.
inline constexpr int task_elements = shared_elements / 4;

/// Number of threads that together add one row to a product: the number of pairs of nonzeros, rounded up to a
/// power of two, at most a warp.
[[nodiscard]] constexpr int lanes_for(int pairs) {
  int lanes = 1;
  while (lanes < pairs && lanes < 32) lanes *= 2;
  return lanes;
}

/// A part of one product's sums that fits in shared memory, and the number of workers that form it, each with
/// `lanes_for` threads and its own sums.
struct Task {
  int product;
  int elements;
  int workers;
  std::int64_t begin;       ///< index of its first sum among the product's sums
  std::int64_t row_values;  ///< where the batch stores the values of its terms, as in TermTable
  std::int64_t column_values;
  int plane;  ///< of the batch's weights
};

/// A batch of slices in a pass that forms sums.
struct SliceBatchView : RowsView {
  int response;      ///< variables
  int limit;         ///< -1: responses have no second number
  int prior_weight;  ///< -1: all ones
  double prior_factor;
  /// By formula, then by linear predictor of the family: 1 if the terms are added to it. Null: those of
  /// formula p are added to predictor p alone.
  const std::uint8_t* readers;
  int planes;  ///< of the weights
  std::int64_t width;
  int scalar_count;
  /// By plane, then by row. With one linear predictor there is one plane. With several there are planes for
  /// minus the second derivatives of the log likelihood, by pair of predictors, and then for its first
  /// derivatives, by predictor.
  double* weights;
  double* roots;     ///< square roots of the weights, for the products of splines; null: not read
  double* scalars;   ///< by scalar, then by row
  double* partials;  ///< by slice, then by element
};

/// What a prediction of the rows of a batch writes.
struct PredictionView {
  const double* form;  ///< `variance_form`; null: no standard errors
  int product_count;   ///< the first products of the layout without the residual
  const Product* products;
  double* out;  ///< a row's prediction, then its standard error
};

}  // namespace TESSERA_NAMESPACE::gam
