// SPDX-License-Identifier: Apache-2.0
// The kernels that sum over the rows, compiled at run time for one model.
//
// Rows are cut into slices (blocks of the job or parts of blocks); a batch of slices is processed at once:
//
//   evaluate_…       one thread per row: values and starts of every term, weight, residual, scalars
//   form_crossproduct  products of splines, where the device has matrix units for them: see crossproduct.cuh
//   form_partials    one CUDA block per task (a pair of terms) and slice: their sums over the slice
//   form_scalars     one CUDA block per slice: the sums of the scalars
//   accumulate       one thread per element: the batch's partials into the reproducible sum
//
// The order of floating-point additions does not depend on the size of a batch or on its slices.
#include "gam/rows/slice_batch.hpp"
#include "gam/rows/terms.cuh"

#include <cstdint>
#include <tessera/job/reproducible_sum_core.hpp>

namespace TESSERA_NAMESPACE::gam {

struct Slice {
  std::int64_t begin;  ///< index of the slice's first row in the part of the tile
  int rows;
};

Slice slice_of(const SliceBatchView& batch, int in_batch) {
  const std::int64_t slice = batch.first_slice + in_batch;
  const std::int64_t block = slice / batch.slices_per_block;
  const std::int64_t begin = block * batch.block_rows + slice % batch.slices_per_block * batch.slice_rows;
  const std::int64_t block_end = (block + 1) * batch.block_rows;
  std::int64_t end = begin + batch.slice_rows;
  if (end > block_end) end = block_end;
  if (end > batch.rows) end = batch.rows;
  return {begin, end > begin ? static_cast<int>(end - begin) : 0};
}

// The devices that `CrossPlan::runs_on` accepts.
#if __CUDA_ARCH__ / 100 != 9 && __CUDA_ARCH__ / 100 != 10
#undef TESSERA_ROWS_CROSSPRODUCT
#endif
#ifdef TESSERA_ROWS_CROSSPRODUCT
constexpr bool has_crossproduct = true;
#else
constexpr bool has_crossproduct = false;
#endif

/// Where the batch stores the values of a term, in a pass of this kind; -1: kernels do not read them.
template <PassKind kind>
constexpr std::int64_t value_begin(int term) {
  if constexpr (!has_crossproduct) return fixed::terms[term].value_begin;
  return kind == PassKind::moments ? fixed::moment_value_begins[term] : fixed::sum_value_begins[term];
}

using Family = decltype(fixed::family_of(nullptr));

constexpr bool has_products(PassKind kind) {
  return kind != PassKind::deviance && kind != PassKind::parameters;
}

/// Returns the contribution of term t to the predictor of row `row`. If products read the term's values and
/// starts, stores them at index `at` of the batch.
template <PassKind kind, int t>
double evaluate_term(const SliceBatchView& batch, std::int64_t row, std::int64_t at) {
  constexpr TermTable term = fixed::terms[t];
  const EvaluatedTerm<t> here = evaluate<t>(batch, row);
  if constexpr (has_products(kind) && value_begin<kind>(t) >= 0) {
    double* kept = batch.values + value_begin<kind>(t) * batch.capacity + at * term.nonzeros;
#pragma unroll
    for (int k = 0; k < term.nonzeros; ++k) kept[k] = here.values[k];
#pragma unroll
    for (int p = 0; p < placements_of(term); ++p)
      batch.starts[(term.placement_begin + p) * batch.capacity + at] = here.starts[p];
  }
  if constexpr (kind == PassKind::moments) return 0;
  return sum_with<t>(here, batch.raw_coef);
}

inline void keep_weight(const SliceBatchView& batch, std::int64_t at, double weight) {
  batch.weights[at] = weight;
  if constexpr (has_crossproduct) batch.roots[at] = sqrt(weight);
}

/// Stores the working residual of the row at index `at` of the batch.
template <PassKind kind>
void keep_residual(const SliceBatchView& batch, std::int64_t at, double residual) {
  constexpr TermTable term = fixed::terms[fixed::term_count];
  batch.values[value_begin<kind>(fixed::term_count) * batch.capacity + at] = residual;
  batch.starts[term.placement_begin * batch.capacity + at] = 0;
}

/// Sets the row at index `at` of the batch to zero in all products.
template <PassKind kind>
void clear_row(const SliceBatchView& batch, std::int64_t at) {
  keep_weight(batch, at, 0);
  for (int plane = 1; plane < fixed::planes; ++plane) batch.weights[plane * batch.capacity + at] = 0;
  for (int t = 0; t <= fixed::term_count; ++t) {
    if (value_begin<kind>(t) < 0) continue;
    const TermTable& term = fixed::terms[t];
    double* values = batch.values + value_begin<kind>(t) * batch.capacity + at * term.nonzeros;
    for (int k = 0; k < term.nonzeros; ++k) values[k] = 0;
  }
  for (int p = 0; p < fixed::placement_count; ++p) batch.starts[p * batch.capacity + at] = 0;
}

template <class F>
constexpr int parameter_count() {
  if constexpr (CountedFamily<F>) {
    constexpr F of_model = fixed::family_of(nullptr);
    return of_model.count();
  } else {
    return F::parameter_count;
  }
}

/// Stores the contribution of the row at index `at` of the batch to the sums.
template <PassKind kind, RowFamily F>
void keep_outcome(const SliceBatchView& batch, const F& family, Response y, double eta, double offset,
                  double prior, std::int64_t at) {
  if constexpr (kind == PassKind::parameters) {
    constexpr int count = parameter_scalar_count(parameter_count<F>());
    double scalars[count];
    likelihood_outcome(family, y, eta, prior, scalars);
    for (int k = 0; k < count; ++k) batch.scalars[k * batch.capacity + at] = scalars[k];
  } else {
    const RowOutcome<double> outcome = row_outcome(kind, family, y, eta, offset, prior);
    for (int k = 0; k < row_scalar_count; ++k) batch.scalars[k * batch.capacity + at] = outcome.scalars[k];
    if constexpr (has_products(kind)) {
      keep_residual<kind>(batch, at, outcome.residual);
      keep_weight(batch, at, outcome.weight);
      if (kind != PassKind::moments && outcome.scalars[2] != 0) clear_row<kind>(batch, at);
    }
  }
}

/// Whether the terms of a formula are added to one of P linear predictors.
template <int P>
constexpr bool reads(int formula, int predictor) {
  return fixed::are_read[formula * P + predictor];
}

/// The weights of the planes of formulas, from those of the linear predictors that their terms are added to:
/// a pair of formulas gets the sum over all pairs of a predictor of one and a predictor of the other.
template <int P>
void keep_shared_weights(const SliceBatchView& batch, const double* weights, std::int64_t at) {
  constexpr int formulas = fixed::predictors;
  for (int f = 0, plane = 0; f < formulas; ++f) {
    double score = 0;
    for (int p = 0; p < P; ++p)
      if (reads<P>(f, p)) score += weights[predictor_pairs(P) + p];
    batch.weights[(predictor_pairs(formulas) + f) * batch.capacity + at] = score;
    for (int g = f; g < formulas; ++g, ++plane) {
      double weight = 0;
      for (int p = 0; p < P; ++p) {
        for (int q = 0; q < P; ++q)
          if (reads<P>(f, p) && reads<P>(g, q)) weight += weights[predictor_pair(p, q, P)];
      }
      batch.weights[plane * batch.capacity + at] = weight;
    }
  }
}

/// As `keep_outcome`, for several linear predictors. `eta`: by formula.
template <PassKind kind, class F>
void keep_several(const SliceBatchView& batch, const F& family, double y, const double* eta, double prior,
                  std::int64_t at) {
  constexpr int P = F::predictors;
  double sums[P] = {};
  for (int p = 0; fixed::shares && p < P; ++p)
    for (int f = 0; f < fixed::predictors; ++f)
      if (reads<P>(f, p)) sums[p] += eta[f];
  const auto outcome = several_outcome(kind, family, y, fixed::shares ? sums : eta, prior, batch.parameters);
  for (int k = 0; k < row_scalar_count; ++k) batch.scalars[k * batch.capacity + at] = outcome.scalars[k];
  if constexpr (has_products(kind)) {
    keep_residual<kind>(batch, at, 1);
    if constexpr (fixed::shares) {
      keep_shared_weights<P>(batch, outcome.weights, at);
    } else {
#pragma unroll
      for (int plane = 0; plane < fixed::planes; ++plane)
        batch.weights[plane * batch.capacity + at] = outcome.weights[plane];
    }
    if (kind != PassKind::moments && outcome.scalars[2] != 0) clear_row<kind>(batch, at);
  }
}

template <PassKind kind>
void evaluate_row(const SliceBatchView& batch) {
  const int in_batch = static_cast<int>(blockIdx.y);
  const Slice slice = slice_of(batch, in_batch);
  const int r = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (r >= slice.rows) return;
  const std::int64_t row = slice.begin + r;
  const std::int64_t at = static_cast<std::int64_t>(in_batch) * batch.slice_rows + r;
  if (batch.columns.complete[row] == 0) {
    if constexpr (has_products(kind)) clear_row<kind>(batch, at);
    for (int k = 0; k < batch.scalar_count; ++k) batch.scalars[k * batch.capacity + at] = 0;
    return;
  }
  double eta[fixed::predictors];
#pragma unroll
  for (int p = 0; p < fixed::predictors; ++p) eta[p] = offset_of(batch, row, p);
  const double offset = eta[0];
  fixed::for_each_term([&](auto t) {
    constexpr int term = decltype(t)::value;
    eta[fixed::terms[term].predictor] += evaluate_term<kind, term>(batch, row, at);
  });
  double prior = 1;
  if constexpr (fixed::prior_weight >= 0)
    prior = batch.prior_factor * batch.columns.numbers[fixed::prior_weight][row];
  Response response = batch.columns.numbers[fixed::response][row];
  if constexpr (fixed::limit >= 0) response.limit = batch.columns.numbers[fixed::limit][row];
  response = batch.response_factor * response;
  const auto family = fixed::family_of(batch.parameters);
  if constexpr (fixed::several)
    keep_several<kind>(batch, family, response, eta, prior, at);
  else
    keep_outcome<kind>(batch, family, response, eta[0], offset, prior, at);
}

/// Sums one task over a slice into `sums`, for a product with these numbers of nonzeros. Of n workers, worker
/// i takes rows i, i + n, i + 2n … of the slice, in that order.
template <int row_nonzeros, int column_nonzeros>
void add_rows(const SliceBatchView& batch, const Product& product, const Task& task, int in_batch,
              double* sums) {
  constexpr int pairs = row_nonzeros * column_nonzeros;
  constexpr int lanes = lanes_for(pairs);
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
  const long long* lines = fixed::lines + product.line_begin;
  const int* offsets = fixed::offsets + product.offset_begin;

  // All lanes of a warp make the same number of iterations, even lanes of a worker without rows left.
  const int first_worker_of_warp = thread / 32 * 32 / lanes;
  for (int next = 0; first_worker_of_warp < task.workers && next < rows; next += task.workers) {
    const int r = next + worker;
    if (worker < task.workers && r < rows) {
      const double weight = weights[r];
      const std::int64_t corner = std::int64_t{a_starts[r]} * product.columns + b_starts[r] - task.begin;
      for (int pair = lane; pair < pairs; pair += lanes) {
        const int i = pair / column_nonzeros;
        const int j = pair % column_nonzeros;
        const std::int64_t e = corner + lines[i] + offsets[j];
        // Elements of a symmetric product below its diagonal are not read.
        if (e < 0 || e >= task.elements || (product.symmetric && j < i)) continue;
        own[e] += weight * a[r * row_nonzeros + i] * b[r * column_nonzeros + j];
      }
    }
    // Needed because another lane may add to the same sum for the worker's next row.
    __syncwarp();
  }
}

// Grid: rows of a slice by slices.
extern "C" __global__ void evaluate_moments(SliceBatchView batch) {
  evaluate_row<PassKind::moments>(batch);
}
extern "C" __global__ void evaluate_start(SliceBatchView batch) {
  evaluate_row<PassKind::start>(batch);
}
extern "C" __global__ void evaluate_step(SliceBatchView batch) {
  evaluate_row<PassKind::step>(batch);
}
extern "C" __global__ void evaluate_deviance(SliceBatchView batch) {
  evaluate_row<PassKind::deviance>(batch);
}
/// Sums the likelihood's derivatives. Empty, and never launched, for a family without parameters.
template <class F>
void evaluate_likelihood([[maybe_unused]] const SliceBatchView& batch) {
  if constexpr (ParametricFamily<F>) evaluate_row<PassKind::parameters>(batch);
}
extern "C" __global__ void evaluate_parameters(SliceBatchView batch) {
  evaluate_likelihood<Family>(batch);
}

/// Grid: tasks by slices. The workers' sums are added in their order.
extern "C" __global__ void __launch_bounds__(threads_per_block)
    form_partials(SliceBatchView batch, const Task* tasks) {
  extern __shared__ double sums[];
  const Task task = tasks[blockIdx.x];
  const int in_batch = static_cast<int>(blockIdx.y);
  const Product product = batch.products[task.product];
  const int elements = task.elements;
  const int thread = static_cast<int>(threadIdx.x);
  for (int e = thread; e < task.workers * elements; e += threads_per_block) sums[e] = 0;
  __syncthreads();
  fixed::with_shape(product.row_nonzeros, product.column_nonzeros, [&](auto row, auto column) {
    add_rows<decltype(row)::value, decltype(column)::value>(batch, product, task, in_batch, sums);
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

/// Grid: elements. Adds `slices` partials to the state of the reproducible sum.
extern "C" __global__ void accumulate(const double* partials, std::int64_t width, int slices,
                                      std::int32_t* tops, std::int64_t* bins) {
  const std::int64_t e = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (e >= width) return;
  SumElement sum;
  sum.top = tops[e];
  for (int i = 0; i < sum_bin_count; ++i) sum.bins[i] = bins[i * width + e];
  // Several loads are in flight at once, to hide their latency.
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

}  // namespace TESSERA_NAMESPACE::gam

#ifdef TESSERA_ROWS_CROSSPRODUCT
#include "gam/rows/crossproduct.cuh"
#endif
