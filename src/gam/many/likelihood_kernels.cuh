// SPDX-License-Identifier: Apache-2.0
// Sums over the rows of many responses at once, compiled at run time.
//
//   gather_inputs    coefficients from the host's memory
//   score_and_gram, expected_gram, loss, weight_derivatives, null_model
//                    a CUDA block for each chunk of rows, part of the sums, and request
//   add_chunks       the chunks of each group, in order, to the host's memory
#define TESSERA_LANE_INLINE inline
#include "gam/many/family_rows.hpp"
#include "gam/many/likelihood_view.hpp"

namespace TESSERA_NAMESPACE::gam {

struct DeviceMath {
  using Real = double;
  static double exp(double x) { return ::exp(x); }
  static double log1p(double x) { return ::log1p(x); }
};

}  // namespace TESSERA_NAMESPACE::gam

#include "likelihood_constants.hpp"

namespace TESSERA_NAMESPACE::gam {

template <int n>
struct Number {
  static constexpr int value = n;
};

constexpr int packed_size(int columns) {
  return columns * (columns + 1) / 2;
}

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

/// Reads a row; false for a row that does not count.
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

/// The values of the `K` columns of a group in one row.
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
  /// x'Cx for a packed matrix.
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
/// The values in one row for a group with any number of columns.
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

/// Sums each of N values over the threads of the block, and calls `put(i, sum)`.
template <int N, class Put>
void store_sums(const double (&sums)[N], Put&& put) {
  constexpr int warps = likelihood_threads / 32;
  __shared__ double of_warp[warps][N];
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    double value = sums[i];
#pragma unroll
    for (int other = 16; other > 0; other /= 2) value += __shfl_down_sync(0xffffffffu, value, other);
    if (lane == 0) of_warp[threadIdx.x / 32][i] = value;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < N; i += likelihood_threads) {
    double sum = 0;
    for (int warp = 0; warp < warps; ++warp) sum += of_warp[warp][i];
    put(i, sum);
  }
  __syncthreads();
}

/// X' diag(w) X and X'v of a group. `part`: a pair of tiles of columns, if the group has many columns.
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
  void store_gram(double* to) const {
    store_sums(gram, [&](int i, double sum) { to[i] = sum; });
  }
  void store_vector(double* to) const {
    store_sums(vector, [&](int i, double sum) { to[i] = sum; });
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
  void store_gram(double* to) const {
    store_sums(gram, [&](int i, double sum) {
      const int a = first_a + i / T;
      const int b = first_b + i % T;
      if (a <= b && b < columns) to[packed_size(columns) - packed_size(columns - a) + (b - a)] = sum;
    });
  }
  void store_vector(double* to) const {
    store_sums(vector, [&](int i, double sum) {
      if (first_a + i < columns) to[first_a + i] = sum;
    });
  }
};

/// The chunk of a CUDA block; none if the request has fewer chunks.
int chunk_of_block(const LikelihoodBatch& batch) {
  const LikelihoodRequest& request = batch.requests[blockIdx.y];
  const int chunk = batch.groups[request.first_group].first_chunk + blockIdx.x;
  return chunk < batch.groups[request.end_group - 1].end_chunk ? chunk : -1;
}

/// The work of a CUDA block: a chunk of a group, for a request.
struct Work {
  const LikelihoodRequest& request;
  const LikelihoodChunk& chunk;
  const LikelihoodGroup& group;
  const double* b;  ///< coefficients of the group
  double* to;       ///< partial sums of the chunk

  Work(const LikelihoodBatch& batch, int index)
      : request(batch.requests[blockIdx.y]),
        chunk(batch.chunks[index]),
        group(batch.groups[chunk.group]),
        b(request.input + group.first_coefficient),
        to(request.sums + batch.partial_begins[index]) {}

  /// Calls `work(row, y, prior weight, offset)` for each row of this thread that counts.
  template <class Do>
  void for_each_value(Do&& work) const {
    for (int row = chunk.begin + threadIdx.x; row < chunk.end; row += likelihood_threads) {
      const long long slot = group.first_slot + row;
      double y;
      double prior;
      if (read_row(request.response, slot, y, prior)) work(row, y, prior, request.response.offset[slot]);
    }
  }
  /// Calls `work(columns, y, prior weight, eta)` for each row of this thread that counts.
  template <int K, class Do>
  void for_each_row(Do&& work) const {
    for_each_value([&](int row, double y, double prior, double offset) {
      const Columns<K> columns(group, row);
      work(columns, y, prior, offset + columns.times(b));
    });
  }
};

/// Calls `work(Number<K>)` for the group's number of columns; K = 0: any number.
template <class Do>
void with_columns(int columns, Do&& work) {
  fixed::for_each_size([&](auto size) {
    if (columns == size.value) work(size);
  });
  if (columns > most_columns_in_registers) work(Number<0>{});
}

/// Number of pairs of tiles of a group's columns.
int parts_of(int columns) {
  if (columns <= most_columns_in_registers) return 1;
  const int tiles = (columns + tile_columns - 1) / tile_columns;
  return tiles * (tiles + 1) / 2;
}

template <int K, class Family>
void sum_score_and_gram(const Work& work, const Family& family) {
  Products<K> products(work.group, blockIdx.z);
  work.for_each_row<K>([&](const Columns<K>& row, double y, double prior, double eta) {
    const double mean = family.mean(eta);
    products.add_square(row, prior * family.weight(y, mean));
    products.add(row, prior * family.score(y, mean));
  });
  products.store_gram(work.to);
  if (products.has_vector()) products.store_vector(work.to + packed_size(work.group.columns));
}

template <int K, class Family>
void sum_expected_gram(const Work& work, const Family& family) {
  Products<K> products(work.group, blockIdx.z);
  double pearson[1] = {};
  work.for_each_row<K>([&](const Columns<K>& row, double y, double prior, double eta) {
    const double mean = family.mean(eta);
    products.add_square(row, prior * family.expected_weight(mean));
    const double residual = fixed::is_gamma ? (y - mean) / mean : y - mean;
    pearson[0] += prior * residual * residual;
  });
  products.store_gram(work.to);
  if (blockIdx.z != 0) return;
  store_sums(pearson, [&](int, double sum) { work.to[packed_size(work.group.columns)] = sum; });
}

template <int K, class Family>
void sum_loss(const Work& work, const Family& family) {
  Products<K> products(work.group, blockIdx.z);
  if (!products.has_vector()) return;
  double losses[3] = {};
  work.for_each_row<K>([&](const Columns<K>& row, double y, double prior, double eta) {
    const RowLoss<double> loss = family.loss(y, eta, family.mean(eta));
    losses[0] += prior * loss.value;
    losses[1] += prior * loss.by_tau;
    losses[2] += prior * loss.by_tau_twice;
    products.add(row, prior * loss.score_by_tau);
  });
  products.store_vector(work.to + 3);
  if (blockIdx.z == 0) store_sums(losses, [&](int i, double sum) { work.to[i] = sum; });
}

/// The sums of `WeightSums` by parameter, then the sums without a parameter.
template <int K, class Family>
void sum_weight_derivatives(const Work& work, const Family& family, int parameter, int part) {
  constexpr int parameters = fixed::parameters;
  static_assert(parameters <= most_parameters);
  const int columns = work.group.columns;
  const int elements = packed_size(columns);
  const double* const inverse = work.request.input + fixed::coefficients + work.group.first_element;
  const double* const first =
      work.request.input + fixed::coefficients + fixed::elements + work.group.first_coefficient;
  // Sums of a group: gram matrices by parameter, sums by pairs, X'(h dw/deta), d/dtau of X' d2l/(deta dtau).
  double* const pairs_to = work.to + parameters * elements;
  double* const vectors_to = pairs_to + parameters * parameters;
  Products<K> products(work.group, part);
  if (parameter == parameters) {
    if (!products.has_vector()) return;
    work.for_each_row<K>([&](const Columns<K>& row, double y, double prior, double eta) {
      products.add(row, row.form(inverse) * prior * family.derivatives(y, family.mean(eta)).eta);
    });
    products.store_vector(vectors_to);
    return;
  }
  const bool by_tau = work.request.with_tau != 0 && parameter == parameters - 1;
  const double* const own = first + parameter * fixed::coefficients;
  // A bit for each parameter that changes the predictor of this group.
  unsigned long long related = 0;
  for (int k = parameter; k < parameters; ++k) {
    bool is_related = work.request.with_tau != 0 && k == parameters - 1;
    for (int a = 0; a < columns && !is_related; ++a) is_related = first[k * fixed::coefficients + a] != 0;
    related |= static_cast<unsigned long long>(is_related) << k;
  }
  double pairs[parameters] = {};
  if ((related >> parameter & 1) != 0) {
    work.for_each_row<K>([&](const Columns<K>& row, double y, double prior, double eta) {
      const RowWeightDerivatives<double> w = family.derivatives(y, family.mean(eta));
      const double predictor = row.times(own);
      products.add_square(row, prior * (w.eta * predictor + (by_tau ? w.tau : 0)));
      if (part == 0) {
        const double leverage = prior * row.form(inverse);
#pragma unroll(parameters <= 3 ? parameters : 1)
        for (int k = 0; k < parameters; ++k) {
          if ((related >> k & 1) == 0) continue;
          double value = w.eta_eta * predictor * row.times(first + k * fixed::coefficients);
          if (work.request.with_tau != 0 && k == parameters - 1)
            value += by_tau ? 2 * w.eta_tau * predictor + w.tau_tau : w.eta_tau * predictor;
          pairs[k] += leverage * value;
        }
      }
      if (by_tau) products.add(row, prior * (w.score_tau_tau - w.tau * predictor));
    });
  }
  products.store_gram(work.to + parameter * elements);
  if (part == 0) store_sums(pairs, [&](int k, double sum) { pairs_to[parameter * parameters + k] = sum; });
  if (parameter == parameters - 1 && products.has_vector()) products.store_vector(vectors_to + columns);
}

}  // namespace TESSERA_NAMESPACE::gam

using namespace tessera::gam;

#define TESSERA_KERNEL extern "C" __global__ void __launch_bounds__(likelihood_threads)

TESSERA_KERNEL gather_inputs(LikelihoodBatch batch) {
  const LikelihoodRequest& request = batch.requests[blockIdx.y];
  for (int i = blockIdx.x * likelihood_threads + threadIdx.x; i < request.inputs;
       i += gridDim.x * likelihood_threads)
    request.input[i] = request.host_input[i];
}

TESSERA_KERNEL score_and_gram(LikelihoodBatch batch) {
  const int chunk = chunk_of_block(batch);
  if (chunk < 0) return;
  const Work work(batch, chunk);
  if (blockIdx.z >= parts_of(work.group.columns)) return;
  with_family(work.request, [&](const auto& family) {
    with_columns(work.group.columns, [&](auto size) { sum_score_and_gram<size.value>(work, family); });
  });
}

TESSERA_KERNEL expected_gram(LikelihoodBatch batch) {
  const int chunk = chunk_of_block(batch);
  if (chunk < 0) return;
  const Work work(batch, chunk);
  if (blockIdx.z >= parts_of(work.group.columns)) return;
  with_family(work.request, [&](const auto& family) {
    with_columns(work.group.columns, [&](auto size) { sum_expected_gram<size.value>(work, family); });
  });
}

TESSERA_KERNEL loss(LikelihoodBatch batch) {
  const int chunk = chunk_of_block(batch);
  if (chunk < 0) return;
  const Work work(batch, chunk);
  if (blockIdx.z >= parts_of(work.group.columns)) return;
  with_family(work.request, [&](const auto& family) {
    with_columns(work.group.columns, [&](auto size) { sum_loss<size.value>(work, family); });
  });
}

/// `parts`: maximum number of parts of a group.
TESSERA_KERNEL weight_derivatives(LikelihoodBatch batch, int parts) {
  const int chunk = chunk_of_block(batch);
  if (chunk < 0) return;
  const Work work(batch, chunk);
  const int part = blockIdx.z % parts;
  if (part >= parts_of(work.group.columns)) return;
  with_family(work.request, [&](const auto& family) {
    with_columns(work.group.columns, [&](auto size) {
      sum_weight_derivatives<size.value>(work, family, blockIdx.z / parts, part);
    });
  });
}

/// Scores, weights and losses for a model with an intercept and the offset.
TESSERA_KERNEL null_model(LikelihoodBatch batch) {
  const int chunk = chunk_of_block(batch);
  if (chunk < 0) return;
  const Work work(batch, chunk);
  with_family(work.request, [&](const auto& family) {
    double sums[3] = {};
    work.for_each_value([&](int /*row*/, double y, double prior, double offset) {
      const double eta = offset + work.request.level;
      const double mean = family.mean(eta);
      sums[0] += prior * family.score(y, mean);
      sums[1] += prior * family.weight(y, mean);
      sums[2] += prior * family.loss(y, eta, mean).value;
    });
    store_sums(sums, [&](int i, double sum) { work.to[i] = sum; });
  });
}

TESSERA_KERNEL add_chunks(LikelihoodBatch batch) {
  const LikelihoodRequest& request = batch.requests[blockIdx.y];
  const int index = request.first_group + blockIdx.x;
  if (index >= request.end_group) return;
  const LikelihoodGroup& group = batch.groups[index];
  const long long begin = batch.output_begins[index];
  const long long count = likelihood_sums(request.pass, group.columns, fixed::parameters);
  for (long long i = threadIdx.x; i < count; i += likelihood_threads) {
    double sum = 0;
    for (int chunk = group.first_chunk; chunk < group.end_chunk; ++chunk)
      sum += request.sums[batch.partial_begins[chunk] + i];
    request.output[begin + i] = sum;
  }
}
