// SPDX-License-Identifier: Apache-2.0
// Sums over the rows of many responses at once, compiled at run time.
//
//   gather_inputs    copies inputs from host memory; only for designs with tiled groups
//   sum_rows         computes the sums: a CUDA block for each request, chunk of rows and part of the sums
//   add_chunks       adds the partial sums of groups with several chunks, in order
//
// Sums of a group are written to mapped host memory.
#define TESSERA_LANE_INLINE inline
#include "gam/many/coefficient_search.hpp"
#include "gam/many/family_rows.hpp"
#include "gam/many/likelihood_view.hpp"

namespace TESSERA_NAMESPACE::gam {

struct DeviceMath {
  using Real = double;
  static double exp(double x) { return ::exp(x); }
  static double log1p(double x) { return ::log1p(x); }
  static double min(double a, double b) { return ::fmin(a, b); }
  static double max(double a, double b) { return ::fmax(a, b); }
  static double with_sign(double size, double sign) { return ::copysign(size, sign); }
};

}  // namespace TESSERA_NAMESPACE::gam

#include "likelihood_constants.hpp"

namespace TESSERA_NAMESPACE::gam {

template <int n>
struct Number {
  static constexpr int value = n;
};

constexpr int warps = likelihood_threads / 32;
constexpr int most_sums =
    fixed::parameters > tile_columns* tile_columns ? fixed::parameters : tile_columns* tile_columns;
static_assert(packed_size(most_columns_in_registers) <= most_sums);

/// Shared memory of a CUDA block.
struct Scratch {
  double of_warp[warps * most_sums];
  /// Inputs of a group whose sums fit into registers.
  double input[likelihood_inputs(LikelihoodPass::weight_derivatives, most_columns_in_registers,
                                 fixed::parameters)];
  CoefficientSearch search;
  CoefficientSearch::State state;
  double gram[packed_size(most_columns_in_registers)];
  double score[most_columns_in_registers];
  double from[most_columns_in_registers];
  double step[most_columns_in_registers];
};

template <class Do>
void with_family(const LikelihoodRequest& request, Do&& work) {
  if constexpr (!fixed::is_nb) {
    work(fixed::Family<DeviceMath>{});
  } else {
    if (request.is_poisson != 0)
      work(PoissonRow<DeviceMath>{});
    else
      work(NbRow<DeviceMath>{request.theta, request.log_theta});
  }
}

/// False if the weight is zero or the value is missing.
bool read_row(const LikelihoodResponse& response, long long slot, double& y, double& weight) {
  weight = response.weights[slot];
  if (response.counts != nullptr) {
    const unsigned short count = response.counts[slot];
    y = count;
    return weight != 0 && count != 65535;
  }
  y = response.y[slot];
  return weight != 0 && y == y;
}

/// One row of a group with `K` columns.
template <int K>
struct Columns {
  double x[K];
  Columns(const LikelihoodGroup& group, int row) {
    const double* const from = group.x + (row / 8 * K) * 8LL + row % 8;
#pragma unroll
    for (int a = 0; a < K; ++a) x[a] = from[8 * a];
  }
  double times(const double* b) const {
    double sum = 0;
#pragma unroll
    for (int a = 0; a < K; ++a) sum += x[a] * b[a];
    return sum;
  }
  /// x'Cx for a packed symmetric matrix C.
  double form(const double* packed) const {
    double sum = 0;
#pragma unroll
    for (int a = 0; a < K; ++a) {
      double row = 0.5 * *packed++ * x[a];
#pragma unroll
      for (int b = a + 1; b < K; ++b) row += *packed++ * x[b];
      sum += row * x[a];
    }
    return 2 * sum;
  }
};
/// One row of a group with any number of columns.
template <>
struct Columns<0> {
  const double* from;
  int count;
  Columns(const LikelihoodGroup& group, int row)
      : from(group.x + (static_cast<long long>(row / 8) * group.columns) * 8 + row % 8),
        count(group.columns) {}
  double operator[](int a) const { return a < count ? from[8LL * a] : 0; }
  double times(const double* b) const {
    double sum = 0;
    for (int a = 0; a < count; ++a) sum += from[8LL * a] * b[a];
    return sum;
  }
  double form(const double* packed) const {
    double sum = 0;
    for (int a = 0; a < count; ++a) {
      double row = 0.5 * *packed++ * from[8LL * a];
      for (int b = a + 1; b < count; ++b) row += *packed++ * from[8LL * b];
      sum += row * from[8LL * a];
    }
    return 2 * sum;
  }
};

/// Reduces each of N values over the threads of the block, and calls `put(i, sum)`.
template <int N, class Put>
void store_sums(Scratch& scratch, const double (&sums)[N], Put&& put) {
  static_assert(N <= most_sums);
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    double value = sums[i];
#pragma unroll
    for (int other = 16; other > 0; other /= 2) value += __shfl_down_sync(0xffffffffu, value, other);
    if (lane == 0) scratch.of_warp[threadIdx.x / 32 * N + i] = value;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < N; i += likelihood_threads) {
    double sum = 0;
    for (int warp = 0; warp < warps; ++warp) sum += scratch.of_warp[warp * N + i];
    put(i, sum);
  }
  __syncthreads();
}

/// X' diag(w) X and X'v of a group. In a group with many columns, `part` is a pair of tiles of columns.
template <int K>
struct Products {
  double gram[packed_size(K)] = {};
  double vector[K] = {};
  Products(const LikelihoodGroup& /*group*/, int /*part*/) {}
  bool has_vector() const { return true; }
  void add_square(const Columns<K>& row, double w) {
    int i = 0;
#pragma unroll
    for (int a = 0; a < K; ++a) {
      const double weighted = w * row.x[a];
#pragma unroll
      for (int b = a; b < K; ++b) gram[i++] += weighted * row.x[b];
    }
  }
  void add(const Columns<K>& row, double v) {
#pragma unroll
    for (int a = 0; a < K; ++a) vector[a] += row.x[a] * v;
  }
  void store_gram(Scratch& scratch, double* to) const {
    store_sums(scratch, gram, [&](int i, double sum) { to[i] = sum; });
  }
  void store_vector(Scratch& scratch, double* to) const {
    store_sums(scratch, vector, [&](int i, double sum) { to[i] = sum; });
  }
};
template <>
struct Products<0> {
  static constexpr int T = tile_columns;
  double gram[T * T] = {};
  double vector[T] = {};
  int columns;
  int first_a = 0;
  int first_b = 0;
  Products(const LikelihoodGroup& group, int part) : columns(group.columns) {
    const int tiles = (columns + T - 1) / T;
    int a = 0;
    for (; part >= tiles - a; ++a) part -= tiles - a;
    first_a = a * T;
    first_b = (a + part) * T;
  }
  bool has_vector() const { return first_a == first_b; }
  void add_square(const Columns<0>& row, double w) {
    double of_b[T];
#pragma unroll
    for (int b = 0; b < T; ++b) of_b[b] = row[first_b + b];
#pragma unroll
    for (int a = 0; a < T; ++a) {
      const double weighted = w * row[first_a + a];
#pragma unroll
      for (int b = 0; b < T; ++b) gram[a * T + b] += weighted * of_b[b];
    }
  }
  void add(const Columns<0>& row, double v) {
#pragma unroll
    for (int a = 0; a < T; ++a) vector[a] += row[first_a + a] * v;
  }
  void store_gram(Scratch& scratch, double* to) const {
    store_sums(scratch, gram, [&](int i, double sum) {
      const int a = first_a + i / T;
      const int b = first_b + i % T;
      if (a <= b && b < columns) to[packed_size(columns) - packed_size(columns - a) + (b - a)] = sum;
    });
  }
  void store_vector(Scratch& scratch, double* to) const {
    store_sums(scratch, vector, [&](int i, double sum) {
      if (first_a + i < columns) to[first_a + i] = sum;
    });
  }
};

struct Work {
  const LikelihoodRequest& request;
  const LikelihoodChunk& chunk;
  const LikelihoodGroup& group;
  int part;
  const double* b;  ///< inputs of the group: coefficients, then others
  double* to;       ///< sums of the group, or partial sums of the chunk
  Scratch& scratch;

  Work(const LikelihoodBatch& batch, const LikelihoodBlock& block, Scratch& memory)
      : request(batch.requests[block.request]),
        chunk(batch.chunks[block.chunk]),
        group(batch.groups[chunk.group]),
        part(block.part),
        b(request.input + group.first_input),
        to(group.end_chunk - group.first_chunk > 1 ? request.sums + batch.partial_begins[block.chunk]
                                                   : request.output + batch.output_begins[chunk.group]),
        scratch(memory) {
    if (group.columns > most_columns_in_registers) return;
    const int count = likelihood_inputs(request.pass, group.columns, fixed::parameters);
    for (int i = threadIdx.x; i < count; i += likelihood_threads) scratch.input[i] = b[i];
    __syncthreads();
    b = scratch.input;
  }
  /// Inputs: a packed matrix; derivatives of the coefficients by a parameter.
  const double* matrix() const { return b + group.columns; }
  const double* first(int parameter) const {
    return matrix() + packed_size(group.columns) + parameter * group.columns;
  }

  /// Calls `work(row, y, prior weight, offset)` for this thread's rows with a weight and a value.
  template <class Do>
  void for_each_value(Do&& work) const {
    for (int row = chunk.begin + threadIdx.x; row < chunk.end; row += likelihood_threads) {
      const long long slot = group.first_slot + row;
      double y;
      double prior;
      if (read_row(request.response, slot, y, prior)) work(row, y, prior, request.response.offset[slot]);
    }
  }
  /// Calls `work(columns, y, prior weight, eta)` for this thread's rows with a weight and a value.
  template <int K, class Do>
  void for_each_row(Do&& work) const {
    for_each_value([&](int row, double y, double prior, double offset) {
      const Columns<K> columns(group, row);
      work(columns, y, prior, offset + columns.times(b));
    });
  }
};

/// Calls `work(Number<K>)` for K columns; K = 0 if the group is tiled.
template <class Do>
void with_columns(int columns, Do&& work) {
  fixed::for_each_size([&](auto size) {
    if (columns == size.value) work(size);
  });
  if constexpr (fixed::has_tiles)
    if (columns > most_columns_in_registers) work(Number<0>{});
}

template <int K, class Family>
Products<K> score_and_gram(const Work& work, const Family& family) {
  Products<K> products(work.group, work.part);
  work.for_each_row<K>([&](const Columns<K>& row, double y, double prior, double eta) {
    const double mean = family.mean(eta);
    products.add_square(row, prior * family.weight(y, mean));
    products.add(row, prior * family.score(y, mean));
  });
  return products;
}

template <int K, class Family>
void sum_score_and_gram(const Work& work, const Family& family) {
  const auto products = score_and_gram<K>(work, family);
  products.store_gram(work.scratch, work.to);
  if (products.has_vector()) products.store_vector(work.scratch, work.to + packed_size(work.group.columns));
}

template <int K, class Family>
void sum_expected_gram(const Work& work, const Family& family) {
  Products<K> products(work.group, work.part);
  double pearson[1] = {};
  work.for_each_row<K>([&](const Columns<K>& row, double y, double prior, double eta) {
    const double mean = family.mean(eta);
    products.add_square(row, prior * family.expected_weight(mean));
    const double residual = fixed::is_gamma ? (y - mean) / mean : y - mean;
    pearson[0] += prior * residual * residual;
  });
  products.store_gram(work.scratch, work.to);
  if (work.part != 0) return;
  store_sums(work.scratch, pearson, [&](int, double sum) { work.to[packed_size(work.group.columns)] = sum; });
}

template <int K, class Family>
void sum_loss(const Work& work, const Family& family, double* to) {
  Products<K> products(work.group, work.part);
  if (!products.has_vector()) return;
  double losses[3] = {};
  work.for_each_row<K>([&](const Columns<K>& row, double y, double prior, double eta) {
    const RowLoss<double> loss = family.loss(y, eta, family.mean(eta));
    losses[0] += prior * loss.value;
    losses[1] += prior * loss.by_tau;
    losses[2] += prior * loss.by_tau_twice;
    products.add(row, prior * loss.score_by_tau);
  });
  products.store_vector(work.scratch, to + 3);
  if (work.part == 0) store_sums(work.scratch, losses, [&](int i, double sum) { to[i] = sum; });
}

/// The sums of `WeightSums`: first by parameter, then the others.
template <int K, class Family>
void sum_weight_derivatives(const Work& work, const Family& family) {
  constexpr int parameters = fixed::parameters;
  static_assert(parameters <= most_parameters);
  const int columns = work.group.columns;
  const int elements = packed_size(columns);
  const double* const inverse = work.matrix();
  // Output: gram matrices by parameter, sums by pairs, X'(h dw/deta), d/dtau of X' d2l/(deta dtau).
  double* const pairs_to = work.to + parameters * elements;
  double* const vectors_to = pairs_to + parameters * parameters;
  // A bit for each parameter that affects the predictor of this group.
  unsigned long long related = 0;
  for (int k = 0; k < parameters; ++k) {
    bool is_related = work.request.with_tau != 0 && k == parameters - 1;
    for (int a = 0; a < columns && !is_related; ++a) is_related = work.first(k)[a] != 0;
    related |= static_cast<unsigned long long>(is_related) << k;
  }
  for (int parameter = 0; parameter < parameters; ++parameter) {
    Products<K> products(work.group, work.part);
    const bool by_tau = work.request.with_tau != 0 && parameter == parameters - 1;
    const double* const own = work.first(parameter);
    double pairs[parameters] = {};
    if ((related >> parameter & 1) != 0) {
      work.for_each_row<K>([&](const Columns<K>& row, double y, double prior, double eta) {
        const RowWeightDerivatives<double> w = family.derivatives(y, family.mean(eta));
        const double predictor = row.times(own);
        products.add_square(row, prior * (w.eta * predictor + (by_tau ? w.tau : 0)));
        if (work.part == 0) {
          const double leverage = prior * row.form(inverse);
#pragma unroll(parameters <= 3 ? parameters : 1)
          for (int k = 0; k < parameters; ++k) {
            if (k < parameter || (related >> k & 1) == 0) continue;
            double value = w.eta_eta * predictor * row.times(work.first(k));
            if (work.request.with_tau != 0 && k == parameters - 1)
              value += by_tau ? 2 * w.eta_tau * predictor + w.tau_tau : w.eta_tau * predictor;
            pairs[k] += leverage * value;
          }
        }
        if (by_tau) products.add(row, prior * (w.score_tau_tau - w.tau * predictor));
      });
    }
    products.store_gram(work.scratch, work.to + parameter * elements);
    if (work.part == 0)
      store_sums(work.scratch, pairs, [&](int k, double sum) { pairs_to[parameter * parameters + k] = sum; });
    if (parameter == parameters - 1 && products.has_vector())
      products.store_vector(work.scratch, vectors_to + columns);
  }
  Products<K> products(work.group, work.part);
  if (!products.has_vector()) return;
  work.for_each_row<K>([&](const Columns<K>& row, double y, double prior, double eta) {
    products.add(row, row.form(inverse) * prior * family.derivatives(y, family.mean(eta)).eta);
  });
  products.store_vector(work.scratch, vectors_to);
}

/// Score, weight and loss of the null model: an intercept and the offset.
template <class Family>
void sum_null_model(const Work& work, const Family& family) {
  double sums[3] = {};
  work.for_each_value([&](int /*row*/, double y, double prior, double offset) {
    const double eta = offset + work.request.level;
    const double mean = family.mean(eta);
    sums[0] += prior * family.score(y, mean);
    sums[1] += prior * family.weight(y, mean);
    sums[2] += prior * family.loss(y, eta, mean).value;
  });
  store_sums(work.scratch, sums, [&](int i, double sum) { work.to[i] = sum; });
}

/// x = a^-1 x for a packed matrix by Cholesky; false if it is not positive definite.
template <int K>
bool solve(const double (&a)[packed_size(K)], double* x) {
  double upper[K][K];
  double inverse[K];
  int next = 0;
#pragma unroll
  for (int i = 0; i < K; ++i) {
#pragma unroll
    for (int j = i; j < K; ++j) upper[i][j] = a[next++];
  }
#pragma unroll
  for (int k = 0; k < K; ++k) {
    if (!(upper[k][k] > 0)) return false;
    inverse[k] = 1 / sqrt(upper[k][k]);
#pragma unroll
    for (int j = k; j < K; ++j) upper[k][j] *= inverse[k];
#pragma unroll
    for (int i = k + 1; i < K; ++i) {
#pragma unroll
      for (int j = i; j < K; ++j) upper[i][j] -= upper[k][i] * upper[k][j];
    }
  }
#pragma unroll
  for (int k = 0; k < K; ++k) {
    x[k] *= inverse[k];
#pragma unroll
    for (int i = k + 1; i < K; ++i) x[i] -= upper[k][i] * x[k];
  }
#pragma unroll
  for (int k = K; k-- > 0;) {
#pragma unroll
    for (int i = k + 1; i < K; ++i) x[k] -= upper[k][i] * x[i];
    x[k] *= inverse[k];
  }
  return true;
}

/// `CoefficientSearch::advance`, by one thread of the block.
template <int K>
void advance(const Work& work, double* b) {
  Scratch& scratch = work.scratch;
  double matrix[packed_size(K)];
  double gradient[K];
  double product[K] = {};
  for (int i = 0; i < packed_size(K); ++i) matrix[i] = scratch.gram[i] + work.matrix()[i];
  add_packed_product(K, work.matrix(), b, product);
  for (int a = 0; a < K; ++a) gradient[a] = scratch.score[a] - product[a];
  scratch.state = scratch.search.advance(K, work.request.tolerance, gradient, b, scratch.from, scratch.step,
                                         [&](double* x) { return solve<K>(matrix, x); });
}

/// `CoefficientSearch` for a group whose rows all belong to this block.
template <int K, class Family>
void settle(const Work& work, const Family& family) {
  Scratch& scratch = work.scratch;
  double* const b = scratch.input;
  if (threadIdx.x == 0) scratch.search = CoefficientSearch::begin();
  do {
    const auto products = score_and_gram<K>(work, family);
    products.store_gram(scratch, scratch.gram);
    products.store_vector(scratch, scratch.score);
    if (threadIdx.x == 0) advance<K>(work, b);
    __syncthreads();
  } while (scratch.state == CoefficientSearch::State::searching);
  double* to = work.to;
  const bool is_settled = scratch.state == CoefficientSearch::State::settled;
  for (int i = threadIdx.x; i < packed_size(K); i += likelihood_threads) to[i] = scratch.gram[i];
  to += packed_size(K);
  for (int i = threadIdx.x; i < K; i += likelihood_threads) {
    to[i] = scratch.score[i];
    to[K + i] = b[i];
  }
  to += 2 * K;
  if (threadIdx.x == 0) *to = is_settled ? scratch.search.decrement : nan("");
  if (is_settled) sum_loss<K>(work, family, to + 1);
}

}  // namespace TESSERA_NAMESPACE::gam

using namespace tessera::gam;

#define TESSERA_KERNEL extern "C" __global__ void

TESSERA_KERNEL gather_inputs(LikelihoodBatch batch) {
  const LikelihoodRequest& request = batch.requests[blockIdx.y];
  for (int i = request.first_input + blockIdx.x * likelihood_threads + threadIdx.x; i < request.end_input;
       i += gridDim.x * likelihood_threads)
    request.input[i] = request.host_input[i];
}

TESSERA_KERNEL __launch_bounds__(likelihood_threads, 4) sum_rows(LikelihoodBatch batch) {
  __shared__ Scratch scratch;
  const Work work(batch, batch.blocks[blockIdx.x], scratch);
  const LikelihoodPass pass = work.request.pass;
  with_family(work.request, [&](const auto& family) {
    if (pass == LikelihoodPass::null_model) return sum_null_model(work, family);
    with_columns(work.group.columns, [&](auto size) {
      constexpr int K = size.value;
      switch (pass) {
        case LikelihoodPass::settle:
          if constexpr (K > 0) settle<K>(work, family);
          break;
        case LikelihoodPass::weight_derivatives: sum_weight_derivatives<K>(work, family); break;
        case LikelihoodPass::score_and_gram: sum_score_and_gram<K>(work, family); break;
        case LikelihoodPass::expected_gram: sum_expected_gram<K>(work, family); break;
        case LikelihoodPass::loss: sum_loss<K>(work, family, work.to); break;
        default: break;
      }
    });
  });
}

TESSERA_KERNEL add_chunks(LikelihoodBatch batch) {
  const LikelihoodRequest& request = batch.requests[blockIdx.y];
  const int index = request.first_group + blockIdx.x;
  if (index >= request.end_group) return;
  const LikelihoodGroup& group = batch.groups[index];
  if (group.end_chunk - group.first_chunk == 1) return;
  const long long begin = batch.output_begins[index];
  const long long count = likelihood_sums(request.pass, group.columns, fixed::parameters);
  for (long long i = threadIdx.x; i < count; i += likelihood_threads) {
    double sum = 0;
    for (int chunk = group.first_chunk; chunk < group.end_chunk; ++chunk)
      sum += request.sums[batch.partial_begins[chunk] + i];
    request.output[begin + i] = sum;
  }
}
