// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "row_evaluation.hpp"
#include "rows_layout.hpp"

#include <cstdint>
#include <tessera/job/reproducible_sum_core.hpp>

/// The kernels of the device pass. Rows are cut into slices, blocks of the job or parts of them; a wave
/// of slices is worked on at once:
///
///   evaluate_rows    one thread a row: values and places of every term, weight, residual, scalars
///   form_partials    one CUDA block a task (a pair of terms) and slice: their sums over the slice
///   form_scalars     one CUDA block a slice: the sums of the scalars
///   accumulate       one thread an element: the wave's partials into the reproducible sum
///
/// No floating-point addition's order depends on the size of a wave or on which slices it holds.
namespace tessera::fit {

constexpr int threads_per_block = 128;
/// Sums of one task in shared memory, all workers together: 48 KiB, which every device has.
constexpr int shared_elements = 6144;
/// Sums of one task at most, so that four workers or more share its rows.
constexpr int task_elements = shared_elements / 4;

/// The columns of the rows at hand, by the frame's variable indices.
struct ColumnsView {
  const double* const* numbers;
  const std::int32_t* const* codes;
  const std::uint8_t* complete;
};

/// What a pass asks of each row.
struct PassView {
  PassKind kind;
  Family family;
  int response;
  int prior_weight;  ///< -1: all ones
  const int* offsets;
  int offset_count;
  const double* raw_coef;  ///< not read for moments
};

/// A part of one product's matrix of sums that fits in shared memory, and who forms it: workers of
/// `lanes` threads, a power of two up to a warp, each with sums of its own.
struct Task {
  int product;
  int row_begin, rows;
  int column_begin, columns;
  int lanes;
  int workers;
};

/// Slices `first_slice … first_slice + slices - 1` of the rows at hand, and their scratch. Arrays over rows
/// have `capacity` = slices x slice_rows of them.
struct WaveView {
  LayoutView layout;
  ColumnsView columns;
  PassView pass;
  std::int64_t rows;  ///< at hand: of the part of the tile
  std::int64_t block_rows;
  int slice_rows;
  int slices_per_block;
  std::int64_t first_slice;
  std::int64_t capacity;
  std::int64_t width;
  double* values;    ///< by term, then by row, then by nonzero
  int* places;       ///< by placement, then by row
  double* weights;   ///< by row
  double* scalars;   ///< by scalar, then by row
  double* partials;  ///< by slice, then by element
};

struct Slice {
  std::int64_t begin;  ///< its first row among those at hand
  int rows;
};

__device__ inline Slice slice_of(const WaveView& wave, int in_wave) {
  const std::int64_t slice = wave.first_slice + in_wave;
  const std::int64_t block = slice / wave.slices_per_block;
  const std::int64_t begin = block * wave.block_rows + slice % wave.slices_per_block * wave.slice_rows;
  const std::int64_t block_end = (block + 1) * wave.block_rows;
  std::int64_t end = begin + wave.slice_rows;
  if (end > block_end) end = block_end;
  if (end > wave.rows) end = wave.rows;
  return {begin, end > begin ? static_cast<int>(end - begin) : 0};
}

/// Values and places of one term for row `row`, kept at place `at` of the wave. Returns what the term
/// adds to the predictor.
__device__ inline double evaluate_term(const WaveView& wave, const TermTable& term, std::int64_t row,
                                       std::int64_t at) {
  const LayoutView& layout = wave.layout;
  double* values = wave.values + term.value_begin * wave.capacity + at * term.nonzeros;
  for (int p = term.placement_begin; p < term.placement_end; ++p) wave.places[p * wave.capacity + at] = 0;
  values[0] = 1;
  int count = 1;
  for (int c = term.component_begin; c < term.component_end; ++c) {
    const ComponentTable& component = layout.components[c];
    int first = 0;
    if (component.kind == Component::Kind::factor) {
      first = wave.columns.codes[component.variable][row];
    } else {
      const double x = wave.columns.numbers[component.variable][row];
      if (component.kind == Component::Kind::numeric) {
        for (int k = 0; k < count; ++k) values[k] *= x;
      } else {
        const Located located = locate(component.margin, layout.numbers, x);
        double four[4];
        local_values(component.margin, layout.numbers, located, four);
        expand_by_four(values, count, four);
        count *= 4;
        first = located.place;
      }
    }
    for (int p = term.placement_begin; p < term.placement_end; ++p) {
      const int stride = layout.strides[layout.placements[p].stride_begin + c - term.component_begin];
      wave.places[p * wave.capacity + at] += stride * first;
    }
  }
  if (wave.pass.kind == PassKind::moments) return 0;
  const int place = term.raw_begin + wave.places[term.placement_begin * wave.capacity + at];
  const int* offsets = layout.offsets + layout.placements[term.placement_begin].offset_begin;
  double sum = 0;
  for (int k = 0; k < count; ++k) sum += wave.pass.raw_coef[place + offsets[k]] * values[k];
  return sum;
}

/// Makes the row at place `at` of the wave give nothing to any product.
__device__ inline void clear_row(const WaveView& wave, std::int64_t at) {
  const LayoutView& layout = wave.layout;
  wave.weights[at] = 0;
  for (int t = 0; t <= layout.term_count; ++t) {
    const TermTable& term = layout.terms[t];
    double* values = wave.values + term.value_begin * wave.capacity + at * term.nonzeros;
    for (int k = 0; k < term.nonzeros; ++k) values[k] = 0;
  }
  for (int p = 0; p < layout.placement_count; ++p) wave.places[p * wave.capacity + at] = 0;
}

/// Grid: rows of a slice by slices.
__global__ void evaluate_rows(WaveView wave) {
  const int in_wave = static_cast<int>(blockIdx.y);
  const Slice slice = slice_of(wave, in_wave);
  const int r = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (r >= slice.rows) return;
  const std::int64_t row = slice.begin + r;
  const std::int64_t at = static_cast<std::int64_t>(in_wave) * wave.slice_rows + r;
  if (wave.columns.complete[row] == 0) {
    clear_row(wave, at);
    for (int k = 0; k < RowLayout::scalar_count; ++k) wave.scalars[k * wave.capacity + at] = 0;
    return;
  }
  const PassView& pass = wave.pass;
  double offset = 0;
  for (int i = 0; i < pass.offset_count; ++i) offset += wave.columns.numbers[pass.offsets[i]][row];
  double eta = offset;
  for (int t = 0; t < wave.layout.term_count; ++t) eta += evaluate_term(wave, wave.layout.terms[t], row, at);
  const double prior = pass.prior_weight < 0 ? 1 : wave.columns.numbers[pass.prior_weight][row];
  const RowOutcome outcome = row_outcome(pass.kind, BuiltInFunctions{pass.family},
                                         wave.columns.numbers[pass.response][row], eta, offset, prior);
  const TermTable& residual = wave.layout.terms[wave.layout.term_count];
  wave.values[residual.value_begin * wave.capacity + at] = outcome.residual;
  wave.places[residual.placement_begin * wave.capacity + at] = 0;
  wave.weights[at] = outcome.weight;
  for (int k = 0; k < RowLayout::scalar_count; ++k) {
    wave.scalars[k * wave.capacity + at] = outcome.scalars[k];
  }
  if (pass.kind != PassKind::moments && outcome.scalars[2] != 0) clear_row(wave, at);
}

/// Grid: tasks by slices. Worker i of n takes rows i, i + n, i + 2n … of the slice, in that order; then the
/// workers' sums are added in theirs.
__global__ void __launch_bounds__(threads_per_block) form_partials(WaveView wave, const Task* tasks) {
  extern __shared__ double sums[];
  const Task task = tasks[blockIdx.x];
  const int in_wave = static_cast<int>(blockIdx.y);
  const int rows = slice_of(wave, in_wave).rows;
  const Product product = wave.layout.products[task.product];
  const int elements = task.rows * task.columns;
  const int thread = static_cast<int>(threadIdx.x);
  for (int e = thread; e < task.workers * elements; e += threads_per_block) sums[e] = 0;
  __syncthreads();

  const int worker = thread / task.lanes;
  const int lane = thread % task.lanes;
  double* own = sums + worker * elements;
  const TermTable& row_term = wave.layout.terms[product.row_term];
  const TermTable& column_term = wave.layout.terms[product.column_term];
  const std::int64_t begin = static_cast<std::int64_t>(in_wave) * wave.slice_rows;
  const double* weights = wave.weights + begin;
  const double* a = wave.values + row_term.value_begin * wave.capacity + begin * product.row_nonzeros;
  const double* b = wave.values + column_term.value_begin * wave.capacity + begin * product.column_nonzeros;
  const int* a_places = wave.places + product.row_placement * wave.capacity + begin;
  const int* b_places = wave.places + product.column_placement * wave.capacity + begin;
  const int* a_offsets = wave.layout.offsets + wave.layout.placements[product.row_placement].offset_begin;
  const int* b_offsets = wave.layout.offsets + wave.layout.placements[product.column_placement].offset_begin;
  const int pairs = product.row_nonzeros * product.column_nonzeros;

  // All lanes of a warp go round together, whether their worker has a row left or not.
  const int first_worker_of_warp = thread / 32 * 32 / task.lanes;
  for (int next = 0; first_worker_of_warp < task.workers && next < rows; next += task.workers) {
    const int r = next + worker;
    if (worker < task.workers && r < rows) {
      const double weight = weights[r];
      const int row_place = a_places[r] - task.row_begin;
      const int column_place = b_places[r] - task.column_begin;
      for (int pair = lane; pair < pairs; pair += task.lanes) {
        const int i = pair / product.column_nonzeros;
        const int j = pair % product.column_nonzeros;
        const int p = row_place + a_offsets[i];
        const int q = column_place + b_offsets[j];
        // Below its diagonal a symmetric product is not read.
        if (p < 0 || p >= task.rows || q < 0 || q >= task.columns || (product.symmetric && j < i)) continue;
        own[p * task.columns + q] +=
            weight * a[r * product.row_nonzeros + i] * b[r * product.column_nonzeros + j];
      }
    }
    // Another lane may add to the same sum for the worker's next row.
    __syncwarp();
  }
  __syncthreads();

  double* partial = wave.partials + in_wave * wave.width + product.begin;
  for (int e = thread; e < elements; e += threads_per_block) {
    double total = 0;
    for (int w = 0; w < task.workers; ++w) total += sums[w * elements + e];
    const std::int64_t p = task.row_begin + e / task.columns;
    partial[p * product.columns + task.column_begin + e % task.columns] = total;
  }
}

/// Grid: slices.
__global__ void __launch_bounds__(threads_per_block) form_scalars(WaveView wave) {
  extern __shared__ double sums[];
  const int in_wave = static_cast<int>(blockIdx.x);
  const int thread = static_cast<int>(threadIdx.x);
  const int rows = slice_of(wave, in_wave).rows;
  for (int k = 0; k < RowLayout::scalar_count; ++k) {
    const double* scalars =
        wave.scalars + k * wave.capacity + static_cast<std::int64_t>(in_wave) * wave.slice_rows;
    double sum = 0;
    for (int r = thread; r < rows; r += threads_per_block) sum += scalars[r];
    sums[thread] = sum;
    __syncthreads();
    for (int half = threads_per_block / 2; half > 0; half /= 2) {
      if (thread < half) sums[thread] += sums[thread + half];
      __syncthreads();
    }
    if (thread == 0) wave.partials[in_wave * wave.width + k] = sums[0];
    __syncthreads();
  }
}

/// Grid: elements. Adds `slices` partials to the state of the reproducible sum.
__global__ void accumulate(const double* partials, std::int64_t width, int slices, std::int32_t* tops,
                           std::int64_t* bins) {
  const std::int64_t e = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (e >= width) return;
  SumElement sum;
  sum.top = tops[e];
  for (int i = 0; i < sum_bin_count; ++i) sum.bins[i] = bins[i * width + e];
  for (int s = 0; s < slices; ++s) add_to(sum, partials[s * width + e]);
  tops[e] = sum.top;
  for (int i = 0; i < sum_bin_count; ++i) bins[i * width + e] = sum.bins[i];
}

}  // namespace tessera::fit
