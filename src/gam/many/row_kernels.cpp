// SPDX-License-Identifier: Apache-2.0
#include "gam/many/row_kernels.hpp"

#include <algorithm>
#include <array>

namespace TESSERA_NAMESPACE::gam {

using base::all_lanes;
using base::lane_count;
using base::Lanes;
using base::load_lanes;
using base::store_lanes;

namespace {

/// Maximum number of columns of an unrolled gram matrix, whose sums fit into 32 registers. More columns are
/// processed in tiles of four.
constexpr int most_columns_at_once = 7;
constexpr int tile = 4;
/// Maximum number of columns whose gram matrix and product X'v together fit into registers.
constexpr int most_columns_with_products = 6;

TESSERA_LANE_INLINE const double* packet_at(const LaneColumns& columns, std::ptrdiff_t packet) {
  return columns.x + packet * columns.stride * lane_count;
}

TESSERA_LANE_INLINE void add_to(double* sums, int index, const Lanes& value) {
  double* const at = sums + std::ptrdiff_t{lane_count} * index;
  store_lanes(at, load_lanes(at) + value);
}

template <int Columns>
struct ColumnOffsets {
  std::ptrdiff_t of[Columns];
  TESSERA_LANE_INLINE explicit ColumnOffsets(const LaneColumns& columns) {
    for (int a = 0; a < Columns; ++a) of[a] = std::ptrdiff_t{lane_count} * columns.at[a];
  }
};

template <int Columns>
TESSERA_LANE_INLINE void combine(const LaneColumns& columns, const double* b, int packets, const double* base,
                                 double* to) {
  const ColumnOffsets<Columns> offsets(columns);
  Lanes factors[Columns];
  for (int a = 0; a < Columns; ++a) factors[a] = all_lanes(b[a]);
  for (int p = 0; p < packets; ++p) {
    const double* const x = packet_at(columns, p);
    Lanes sum = base == nullptr ? Lanes{} : load_lanes(base + std::ptrdiff_t{lane_count} * p);
#pragma GCC unroll 8
    for (int a = 0; a < Columns; ++a) sum += load_lanes(x + offsets.of[a]) * factors[a];
    store_lanes(to + std::ptrdiff_t{lane_count} * p, sum);
  }
}

template <int Columns>
TESSERA_LANE_INLINE void fill_forms(const LaneColumns& columns, const double* packed, int packets,
                                    double* to) {
  const ColumnOffsets<Columns> offsets(columns);
  Lanes factors[packed_size(Columns)];
  for (int a = 0, i = 0; a < Columns; ++a) {
    for (int b = a; b < Columns; ++b, ++i) factors[i] = all_lanes(packed[i] * (a == b ? 0.5 : 1.0));
  }
  for (int p = 0; p < packets; ++p) {
    const double* const x = packet_at(columns, p);
    int i = 0;
    Lanes form{};
#pragma GCC unroll 8
    for (int a = 0; a < Columns; ++a) {
      const Lanes own = load_lanes(x + offsets.of[a]);
      Lanes sum = own * factors[i++];
#pragma GCC unroll 8
      for (int b = a + 1; b < Columns; ++b) sum += load_lanes(x + offsets.of[b]) * factors[i++];
      form += own * sum;
    }
    store_lanes(to + std::ptrdiff_t{lane_count} * p, form * 2.0);
  }
}

/// Adds X' diag(weights) X, and X'v unless `v` is null.
template <int Columns>
TESSERA_LANE_INLINE void add_whole_gram(const LaneColumns& columns, const double* weights, const double* v,
                                        int packets, double* gram, double* products) {
  const ColumnOffsets<Columns> offsets(columns);
  Lanes sums[packed_size(Columns)];
  for (int i = 0; i < packed_size(Columns); ++i) sums[i] = load_lanes(gram + std::ptrdiff_t{lane_count} * i);
  Lanes of_v[Columns];
  for (int i = 0; i < Columns; ++i)
    of_v[i] = v == nullptr ? Lanes{} : load_lanes(products + std::ptrdiff_t{lane_count} * i);
  for (int p = 0; p < packets; ++p) {
    const double* const x = packet_at(columns, p);
    const Lanes w = load_lanes(weights + std::ptrdiff_t{lane_count} * p);
    int i = 0;
#pragma GCC unroll 8
    for (int a = 0; a < Columns; ++a) {
      const Lanes weighted = w * load_lanes(x + offsets.of[a]);
#pragma GCC unroll 8
      for (int b = a; b < Columns; ++b) sums[i++] += weighted * load_lanes(x + offsets.of[b]);
    }
    if (v == nullptr) continue;
    const Lanes value = load_lanes(v + std::ptrdiff_t{lane_count} * p);
#pragma GCC unroll 8
    for (int a = 0; a < Columns; ++a) of_v[a] += load_lanes(x + offsets.of[a]) * value;
  }
  for (int i = 0; i < packed_size(Columns); ++i) store_lanes(gram + std::ptrdiff_t{lane_count} * i, sums[i]);
  if (v == nullptr) return;
  for (int i = 0; i < Columns; ++i) store_lanes(products + std::ptrdiff_t{lane_count} * i, of_v[i]);
}

template <int Columns>
TESSERA_LANE_INLINE void add_whole_products(const LaneColumns& columns, const double* v, int packets,
                                            double* to) {
  const ColumnOffsets<Columns> offsets(columns);
  Lanes sums[Columns];
  for (int i = 0; i < Columns; ++i) sums[i] = load_lanes(to + std::ptrdiff_t{lane_count} * i);
  for (int p = 0; p < packets; ++p) {
    const double* const x = packet_at(columns, p);
    const Lanes value = load_lanes(v + std::ptrdiff_t{lane_count} * p);
#pragma GCC unroll 8
    for (int a = 0; a < Columns; ++a) sums[a] += load_lanes(x + offsets.of[a]) * value;
  }
  for (int i = 0; i < Columns; ++i) store_lanes(to + std::ptrdiff_t{lane_count} * i, sums[i]);
}

/// Adds the products of up to `tile` columns from `first_a` with up to `tile` columns from `first_b`.
TESSERA_LANE_INLINE void add_tile(const LaneColumns& columns, const double* weights, int packets, int first_a,
                                  int first_b, double* to) {
  std::ptrdiff_t at_a[tile];
  std::ptrdiff_t at_b[tile];
  for (int i = 0; i < tile; ++i) {
    at_a[i] = std::ptrdiff_t{lane_count} * columns.at[std::min(first_a + i, columns.count - 1)];
    at_b[i] = std::ptrdiff_t{lane_count} * columns.at[std::min(first_b + i, columns.count - 1)];
  }
  Lanes sums[tile][tile] = {};
  for (int p = 0; p < packets; ++p) {
    const double* const x = packet_at(columns, p);
    const Lanes w = load_lanes(weights + std::ptrdiff_t{lane_count} * p);
#pragma GCC unroll 4
    for (int a = 0; a < tile; ++a) {
      const Lanes weighted = w * load_lanes(x + at_a[a]);
#pragma GCC unroll 4
      for (int b = 0; b < tile; ++b) sums[a][b] += weighted * load_lanes(x + at_b[b]);
    }
  }
  for (int a = first_a; a < std::min(first_a + tile, columns.count); ++a) {
    const int row = packed_size(columns.count) - packed_size(columns.count - a) - a;
    for (int b = std::max(a, first_b); b < std::min(first_b + tile, columns.count); ++b)
      add_to(to, row + b, sums[a - first_a][b - first_b]);
  }
}

// The clones have internal linkage; otherwise the linker would export their ifunc resolvers.

TESSERA_LANE_CLONES void linear_combination_clones(const LaneColumns& columns, const double* b, int packets,
                                                   const double* base, double* to) {
  switch (columns.count) {
    case 1: return combine<1>(columns, b, packets, base, to);
    case 2: return combine<2>(columns, b, packets, base, to);
    case 3: return combine<3>(columns, b, packets, base, to);
    case 4: return combine<4>(columns, b, packets, base, to);
    case 5: return combine<5>(columns, b, packets, base, to);
    case 6: return combine<6>(columns, b, packets, base, to);
    case most_columns_at_once: return combine<7>(columns, b, packets, base, to);
    default: break;
  }
  for (int p = 0; p < packets; ++p) {
    const double* const x = packet_at(columns, p);
    Lanes sum = base == nullptr ? Lanes{} : load_lanes(base + std::ptrdiff_t{lane_count} * p);
    for (int a = 0; a < columns.count; ++a)
      sum += load_lanes(x + std::ptrdiff_t{lane_count} * columns.at[a]) * b[a];
    store_lanes(to + std::ptrdiff_t{lane_count} * p, sum);
  }
}

TESSERA_LANE_CLONES void add_products_clones(const LaneColumns& columns, const double* v, int packets,
                                             double* sums) {
  switch (columns.count) {
    case 0: return;
    case 1: return add_whole_products<1>(columns, v, packets, sums);
    case 2: return add_whole_products<2>(columns, v, packets, sums);
    case 3: return add_whole_products<3>(columns, v, packets, sums);
    case 4: return add_whole_products<4>(columns, v, packets, sums);
    case 5: return add_whole_products<5>(columns, v, packets, sums);
    case 6: return add_whole_products<6>(columns, v, packets, sums);
    case most_columns_at_once: return add_whole_products<7>(columns, v, packets, sums);
    default: break;
  }
  for (int first = 0; first < columns.count; first += tile) {
    std::ptrdiff_t at[tile];
    for (int i = 0; i < tile; ++i)
      at[i] = std::ptrdiff_t{lane_count} * columns.at[std::min(first + i, columns.count - 1)];
    Lanes own[tile] = {};
    for (int p = 0; p < packets; ++p) {
      const double* const x = packet_at(columns, p);
      const Lanes value = load_lanes(v + std::ptrdiff_t{lane_count} * p);
#pragma GCC unroll 4
      for (int i = 0; i < tile; ++i) own[i] += load_lanes(x + at[i]) * value;
    }
    for (int i = first; i < std::min(first + tile, columns.count); ++i) add_to(sums, i, own[i - first]);
  }
}

TESSERA_LANE_CLONES void add_gram_clones(const LaneColumns& columns, const double* weights, int packets,
                                         double* sums) {
  switch (columns.count) {
    case 0: return;
    case 1: return add_whole_gram<1>(columns, weights, nullptr, packets, sums, nullptr);
    case 2: return add_whole_gram<2>(columns, weights, nullptr, packets, sums, nullptr);
    case 3: return add_whole_gram<3>(columns, weights, nullptr, packets, sums, nullptr);
    case 4: return add_whole_gram<4>(columns, weights, nullptr, packets, sums, nullptr);
    case 5: return add_whole_gram<5>(columns, weights, nullptr, packets, sums, nullptr);
    case 6: return add_whole_gram<6>(columns, weights, nullptr, packets, sums, nullptr);
    case most_columns_at_once: return add_whole_gram<7>(columns, weights, nullptr, packets, sums, nullptr);
    default: break;
  }
  for (int a = 0; a < columns.count; a += tile)
    for (int b = a; b < columns.count; b += tile) add_tile(columns, weights, packets, a, b, sums);
}

/// Precondition: at most `most_columns_with_products` columns.
TESSERA_LANE_CLONES void add_gram_and_products_clones(const LaneColumns& columns, const double* weights,
                                                      const double* v, int packets, double* gram,
                                                      double* products) {
  switch (columns.count) {
    case 1: return add_whole_gram<1>(columns, weights, v, packets, gram, products);
    case 2: return add_whole_gram<2>(columns, weights, v, packets, gram, products);
    case 3: return add_whole_gram<3>(columns, weights, v, packets, gram, products);
    case 4: return add_whole_gram<4>(columns, weights, v, packets, gram, products);
    case 5: return add_whole_gram<5>(columns, weights, v, packets, gram, products);
    case most_columns_with_products: return add_whole_gram<6>(columns, weights, v, packets, gram, products);
    default: return;
  }
}

TESSERA_LANE_CLONES void quadratic_forms_clones(const LaneColumns& columns, const double* packed, int packets,
                                                double* to) {
  switch (columns.count) {
    case 1: return fill_forms<1>(columns, packed, packets, to);
    case 2: return fill_forms<2>(columns, packed, packets, to);
    case 3: return fill_forms<3>(columns, packed, packets, to);
    case 4: return fill_forms<4>(columns, packed, packets, to);
    case 5: return fill_forms<5>(columns, packed, packets, to);
    case 6: return fill_forms<6>(columns, packed, packets, to);
    case most_columns_at_once: return fill_forms<7>(columns, packed, packets, to);
    default: break;
  }
  for (int p = 0; p < packets; ++p) {
    const double* const x = packet_at(columns, p);
    const double* c = packed;
    Lanes form{};
    for (int a = 0; a < columns.count; ++a) {
      const Lanes own = load_lanes(x + std::ptrdiff_t{lane_count} * columns.at[a]);
      Lanes sum = own * (*c++ * 0.5);
      for (int b = a + 1; b < columns.count; ++b)
        sum += load_lanes(x + std::ptrdiff_t{lane_count} * columns.at[b]) * *c++;
      form += own * sum;
    }
    store_lanes(to + std::ptrdiff_t{lane_count} * p, form * 2.0);
  }
}

/// Implements `add_weight_changes`. `Parameters`: their number if the sums fit into registers, otherwise 0.
template <int Parameters>
TESSERA_LANE_INLINE void add_changes(const WeightDerivatives& weights, const double* leverage, int packets,
                                     const WeightChanges& to) {
  const int m = Parameters > 0 ? Parameters : to.parameters;
  const int last = m - 1;
  Lanes own[Parameters > 0 ? Parameters * Parameters : 1];
  for (int i = 0; i < Parameters * Parameters; ++i)
    own[i] = load_lanes(to.pair_sums + std::ptrdiff_t{lane_count} * i);
  for (std::ptrdiff_t at = 0; at < std::ptrdiff_t{lane_count} * packets; at += lane_count) {
    const Lanes h = load_lanes(leverage + at);
    const Lanes by_eta = load_lanes(weights.eta + at);
    const Lanes twice = h * load_lanes(weights.eta_eta + at);
    const Lanes with_tau = to.with_tau ? h * load_lanes(weights.eta_tau + at) : Lanes{};
    const Lanes by_tau = to.with_tau ? load_lanes(weights.tau + at) : Lanes{};
    store_lanes(to.leverage_slope + at, h * by_eta);
    if (to.with_tau)
      store_lanes(to.score_by_tau + at, load_lanes(weights.score_tau_tau + at) -
                                            by_tau * load_lanes(to.rows + to.stride * last + at));
#pragma GCC unroll 4
    for (int j = 0; j < m; ++j) {
      const Lanes predictor = load_lanes(to.rows + to.stride * j + at);
      const Lanes scaled = twice * predictor;
#pragma GCC unroll 4
      for (int k = j; k < m; ++k) {
        Lanes sum = scaled * load_lanes(to.rows + to.stride * k + at);
        if (to.with_tau && k == last) {
          sum += with_tau * predictor;
          // Twice for tau itself: d2w has a mixed term for each order of differentiation.
          if (j == last) sum += with_tau * predictor + h * load_lanes(weights.tau_tau + at);
        }
        if constexpr (Parameters > 0)
          own[Parameters * j + k] += sum;
        else
          add_to(to.pair_sums, m * j + k, sum);
      }
    }
#pragma GCC unroll 4
    for (int j = 0; j < m; ++j) {
      double* const row = to.rows + to.stride * j + at;
      const Lanes change = by_eta * load_lanes(row);
      store_lanes(row, to.with_tau && j == last ? change + by_tau : change);
    }
  }
  for (int i = 0; i < Parameters * Parameters; ++i)
    store_lanes(to.pair_sums + std::ptrdiff_t{lane_count} * i, own[i]);
}

TESSERA_LANE_CLONES void add_weight_changes_clones(const WeightDerivatives& weights, const double* leverage,
                                                   int packets, const WeightChanges& to) {
  switch (to.parameters) {
    case 1: return add_changes<1>(weights, leverage, packets, to);
    case 2: return add_changes<2>(weights, leverage, packets, to);
    case 3: return add_changes<3>(weights, leverage, packets, to);
    default: return add_changes<0>(weights, leverage, packets, to);
  }
}

TESSERA_LANE_CLONES void exp_rows_clones(const double* x, int packets, double* to) {
  for (std::ptrdiff_t i = 0; i < std::ptrdiff_t{lane_count} * packets; i += lane_count)
    store_lanes(to + i, base::exp_lanes(load_lanes(x + i)));
}

TESSERA_LANE_CLONES void multiply_rows_clones(const double* a, const double* b, int packets, double* to) {
  for (std::ptrdiff_t i = 0; i < std::ptrdiff_t{lane_count} * packets; ++i) to[i] = a[i] * b[i];
}

TESSERA_LANE_CLONES void add_sum_of_products_clones(const double* a, const double* b, const double* c,
                                                    int packets, double* sum) {
  Lanes own = load_lanes(sum);
  for (std::ptrdiff_t i = 0; i < std::ptrdiff_t{lane_count} * packets; i += lane_count)
    own += load_lanes(a + i) * load_lanes(b + i) * load_lanes(c + i);
  store_lanes(sum, own);
}

}  // namespace

void linear_combination(const LaneColumns& columns, const double* b, int packets, const double* base,
                        double* to) {
  linear_combination_clones(columns, b, packets, base, to);
}
void add_gram(const LaneColumns& columns, const double* weights, int packets, double* sums) {
  add_gram_clones(columns, weights, packets, sums);
}
void add_products(const LaneColumns& columns, const double* v, int packets, double* sums) {
  add_products_clones(columns, v, packets, sums);
}
void add_gram_and_products(const LaneColumns& columns, const double* weights, const double* v, int packets,
                           double* gram, double* products) {
  if (columns.count > most_columns_with_products) {
    add_gram_clones(columns, weights, packets, gram);
    add_products_clones(columns, v, packets, products);
    return;
  }
  add_gram_and_products_clones(columns, weights, v, packets, gram, products);
}
void quadratic_forms(const LaneColumns& columns, const double* packed, int packets, double* to) {
  quadratic_forms_clones(columns, packed, packets, to);
}
void add_weight_changes(const WeightDerivatives& weights, const double* leverage, int packets,
                        const WeightChanges& to) {
  add_weight_changes_clones(weights, leverage, packets, to);
}
void exp_rows(const double* x, int packets, double* to) {
  exp_rows_clones(x, packets, to);
}
void multiply_rows(const double* a, const double* b, int packets, double* to) {
  multiply_rows_clones(a, b, packets, to);
}
void add_sum_of_products(const double* a, const double* b, const double* c, int packets, double* sum) {
  add_sum_of_products_clones(a, b, c, packets, sum);
}

}  // namespace TESSERA_NAMESPACE::gam
