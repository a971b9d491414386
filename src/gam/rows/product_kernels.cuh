// SPDX-License-Identifier: Apache-2.0
// Kernels that sum products of terms, and scalars, over the rows of a batch:
//
//   form_partials    one CUDA block per task and slice: sums of products over the slice
//   form_scalars     one CUDA block per slice: sums of scalars over the slice
//   accumulate       one thread per element: adds slices to the reproducible sum
//   predict_rows     one thread per row: the linear predictor and its standard error
//
// The order of additions does not depend on which slices form a batch.
#include "gam/rows/terms.cuh"
#include "rows_constants.hpp"

#include <cstdint>
#include <limits>
#include <tessera/job/reproducible_sum_core.hpp>

namespace TESSERA_NAMESPACE::gam {

/// Compile-time numbers of nonzeros of a product's terms; 0: any number.
template <int row, int column>
struct Shape {
  static constexpr int row_nonzeros = row;
  static constexpr int column_nonzeros = column;
};

/// Calls `work` with a product's compile-time shape if it is common, else with Shape<0, 0>.
template <class Work>
void with_shape(const Product& product, const Work& work) {
  const auto is = [&](int row, int column) {
    return product.row_nonzeros == row && product.column_nonzeros == column;
  };
  if (is(1, 1)) return work(Shape<1, 1>{});
  if (is(1, 4)) return work(Shape<1, 4>{});
  if (is(4, 4)) return work(Shape<4, 4>{});
  if (is(1, 16)) return work(Shape<1, 16>{});
  if (is(4, 16)) return work(Shape<4, 16>{});
  if (is(16, 16)) return work(Shape<16, 16>{});
  work(Shape<0, 0>{});
}

/// Sums one task over a slice into `sums`. Worker i of n takes rows i, i + n, i + 2n … of the slice in order.
template <int known_rows, int known_columns>
void add_rows(const SliceBatchView& batch, const Product& product, const Task& task, int in_batch,
              double* sums) {
  const int row_nonzeros = known_rows > 0 ? known_rows : product.row_nonzeros;
  const int column_nonzeros = known_columns > 0 ? known_columns : product.column_nonzeros;
  const int pairs = row_nonzeros * column_nonzeros;
  const int lanes = lanes_for(pairs);
  const int rows = slice_of(batch, in_batch).rows;
  const int thread = static_cast<int>(threadIdx.x);
  const int worker = thread / lanes;
  const int lane = thread % lanes;
  double* own = sums + worker * task.elements;
  const std::int64_t begin = static_cast<std::int64_t>(in_batch) * batch.slice_rows;
  const auto values_of = [&](std::int64_t first, int nonzeros) {
    return batch.values + first * batch.capacity + begin * nonzeros;
  };
  const double* weights = batch.weights + task.plane * batch.capacity + begin;
  const double* a = values_of(task.row_values, row_nonzeros);
  const double* b = values_of(task.column_values, column_nonzeros);
  const int* a_starts = batch.starts + product.row_placement * batch.capacity + begin;
  const int* b_starts = batch.starts + product.column_placement * batch.capacity + begin;
  const std::int64_t* lines = batch.layout.lines + product.line_begin;
  const int* offsets = batch.layout.offsets + product.offset_begin;

  // All lanes of a warp make equally many iterations, because of __syncwarp().
  const int first_worker_of_warp = thread / 32 * 32 / lanes;
  for (int next = 0; first_worker_of_warp < task.workers && next < rows; next += task.workers) {
    const int r = next + worker;
    if (worker < task.workers && r < rows) {
      const double weight = weights[r];
      const std::int64_t corner = std::int64_t{a_starts[r]} * product.columns + b_starts[r] - task.begin;
      // Steps the pair (i, j) of nonzeros without a division.
      int i = lane / column_nonzeros;
      int j = lane % column_nonzeros;
      for (int pair = lane; pair < pairs; pair += lanes) {
        const std::int64_t e = corner + lines[i] + offsets[j];
        // Nothing reads a symmetric product below its diagonal.
        if (e >= 0 && e < task.elements && !(product.symmetric && j < i))
          own[e] += weight * a[r * row_nonzeros + i] * b[r * column_nonzeros + j];
        i += lanes / column_nonzeros;
        j += lanes % column_nonzeros;
        if (j >= column_nonzeros) {
          j -= column_nonzeros;
          ++i;
        }
      }
    }
    // Another lane may add to the same sum for the worker's next row.
    __syncwarp();
  }
}

/// Grid: tasks x slices. Adds the workers' sums in order.
extern "C" __global__ void __launch_bounds__(threads_per_block)
    form_partials(SliceBatchView batch, const Task* tasks) {
  extern __shared__ double sums[];
  const Task task = tasks[blockIdx.x];
  const int in_batch = static_cast<int>(blockIdx.y);
  const Product product = batch.layout.products[task.product];
  const int elements = task.elements;
  const int thread = static_cast<int>(threadIdx.x);
  for (int e = thread; e < task.workers * elements; e += threads_per_block) sums[e] = 0;
  __syncthreads();
  with_shape(product, [&](auto shape) {
    add_rows<shape.row_nonzeros, shape.column_nonzeros>(batch, product, task, in_batch, sums);
  });
  __syncthreads();

  double* partial = batch.partials + in_batch * batch.width + product.begin + task.begin;
  for (int e = thread; e < elements; e += threads_per_block) {
    double total = 0;
    for (int w = 0; w < task.workers; ++w) total += sums[w * elements + e];
    partial[e] = total;
  }
}

/// Grid: slices.
extern "C" __global__ void __launch_bounds__(threads_per_block) form_scalars(SliceBatchView batch) {
  extern __shared__ double sums[];
  const int in_batch = static_cast<int>(blockIdx.x);
  const int thread = static_cast<int>(threadIdx.x);
  const int rows = slice_of(batch, in_batch).rows;
  for (int k = 0; k < batch.scalar_count; ++k) {
    const double* scalars =
        batch.scalars + k * batch.capacity + static_cast<std::int64_t>(in_batch) * batch.slice_rows;
    double sum = 0;
    for (int r = thread; r < rows; r += threads_per_block) sum += scalars[r];
    sums[thread] = sum;
    __syncthreads();
    for (int half = threads_per_block / 2; half > 0; half /= 2) {
      if (thread < half) sums[thread] += sums[thread + half];
      __syncthreads();
    }
    if (thread == 0) batch.partials[in_batch * batch.width + k] = sums[0];
    __syncthreads();
  }
}

/// Grid: elements. Adds partial sums to the state of the reproducible sum.
extern "C" __global__ void accumulate(const double* partials, std::int64_t width, int slices,
                                      std::int32_t* tops, std::int64_t* bins) {
  const std::int64_t e = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (e >= width) return;
  SumElement sum;
  sum.top = tops[e];
  for (int i = 0; i < sum_bin_count; ++i) sum.bins[i] = bins[i * width + e];
  // Several loads in flight hide latency.
  constexpr int at_once = 8;
  for (int s = 0; s < slices; s += at_once) {
    double next[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) next[i] = s + i < slices ? partials[(s + i) * width + e] : 0;
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      if (s + i < slices) add_to(sum, next[i]);
    }
  }
  tops[e] = sum.top;
  for (int i = 0; i < sum_bin_count; ++i) bins[i * width + e] = sum.bins[i];
}

/// The product's part of the quadratic form of the row at index `at`.
template <int known_rows, int known_columns>
double variance_of(const SliceBatchView& batch, const PredictionView& prediction, const Product& product,
                   std::int64_t at) {
  const int row_nonzeros = known_rows > 0 ? known_rows : product.row_nonzeros;
  const int column_nonzeros = known_columns > 0 ? known_columns : product.column_nonzeros;
  const double* a = batch.values + batch.value_begins[product.row_term] * batch.capacity + at;
  const double* b = batch.values + batch.value_begins[product.column_term] * batch.capacity + at;
  const std::int64_t row_start = start_at(batch, product.row_placement, at);
  // A symmetric product has no start for columns.
  const std::int64_t column_start = product.symmetric ? 0 : start_at(batch, product.column_placement, at);
  const double* corner = prediction.form + product.begin + row_start * product.columns + column_start;
  const std::int64_t* lines = batch.layout.lines + product.line_begin;
  const int* offsets = batch.layout.offsets + product.offset_begin;
  double sum = 0;
  for (int i = 0; i < row_nonzeros; ++i) {
    const double* line = corner + lines[i];
    double of_line = 0;
    // A symmetric form below its diagonal is zero or not stored.
    for (int j = product.symmetric ? i : 0; j < column_nonzeros; ++j)
      of_line += line[offsets[j]] * b[j * batch.capacity];
    sum += a[i * batch.capacity] * of_line;
  }
  return sum;
}

/// Grid: rows of a slice x slices. Requires `values_by_row` to be false.
extern "C" __global__ void __launch_bounds__(threads_per_block)
    predict_rows(SliceBatchView batch, PredictionView prediction) {
  const RowPlace place = place_of_thread(batch);
  if (!place.exists) return;
  constexpr double missing = std::numeric_limits<double>::quiet_NaN();
  double fit = missing;
  double se = missing;
  if (batch.columns.complete[place.row] != 0) {
    fit = batch.predictors[place.at];
    if (prediction.form != nullptr) {
      double variance = 0;
      for (int p = 0; p < prediction.product_count; ++p) {
        const Product product = prediction.products[p];
        with_shape(product, [&](auto shape) {
          variance +=
              variance_of<shape.row_nonzeros, shape.column_nonzeros>(batch, prediction, product, place.at);
        });
      }
      se = sqrt(not_negative(variance));
    }
  }
  prediction.out[2 * place.row] = fit;
  prediction.out[2 * place.row + 1] = se;
}

}  // namespace TESSERA_NAMESPACE::gam
