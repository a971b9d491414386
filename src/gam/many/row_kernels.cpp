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

/// Up to this many columns, all sums of a group fit in registers where there are enough registers.
constexpr int most_columns_at_once = 7;
/// More columns are processed in tiles of this many.
constexpr int tile = 4;

TESSERA_LANE_INLINE const double* packet_at(const LaneColumns& columns, std::ptrdiff_t packet) {
  return columns.x + packet * columns.stride * lane_count;
}

TESSERA_LANE_INLINE void add_to(double* sums, int index, const Lanes& value) {
  double* const at = sums + std::ptrdiff_t{lane_count} * index;
  store_lanes(at, load_lanes(at) + value);
}

template <int Columns>
TESSERA_LANE_INLINE void add_whole_gram(const LaneColumns& columns, const double* weights, int packets,
                                        double* to) {
  std::ptrdiff_t offsets[Columns];
  for (int a = 0; a < Columns; ++a) offsets[a] = std::ptrdiff_t{lane_count} * columns.at[a];
  Lanes sums[packed_size(Columns)];
  for (int i = 0; i < packed_size(Columns); ++i) sums[i] = load_lanes(to + std::ptrdiff_t{lane_count} * i);
  for (int p = 0; p < packets; ++p) {
    const double* const x = packet_at(columns, p);
    const Lanes w = load_lanes(weights + std::ptrdiff_t{lane_count} * p);
    int i = 0;
#pragma GCC unroll 8
    for (int a = 0; a < Columns; ++a) {
      const Lanes weighted = w * load_lanes(x + offsets[a]);
#pragma GCC unroll 8
      for (int b = a; b < Columns; ++b) sums[i++] += weighted * load_lanes(x + offsets[b]);
    }
  }
  for (int i = 0; i < packed_size(Columns); ++i) store_lanes(to + std::ptrdiff_t{lane_count} * i, sums[i]);
}

/// Products of up to `tile` columns from `first_a` on with up to `tile` columns from `first_b` on.
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

// The linker would export the resolvers of functions with external linkage.

TESSERA_LANE_CLONES void linear_combination_clones(const LaneColumns& columns, const double* b, int packets,
                                                   const double* base, double* to) {
  for (int p = 0; p < packets; ++p) {
    const double* const x = packet_at(columns, p);
    Lanes sum = base == nullptr ? Lanes{} : load_lanes(base + std::ptrdiff_t{lane_count} * p);
    for (int a = 0; a < columns.count; ++a)
      sum += load_lanes(x + std::ptrdiff_t{lane_count} * columns.at[a]) * b[a];
    store_lanes(to + std::ptrdiff_t{lane_count} * p, sum);
  }
}

TESSERA_LANE_CLONES void add_gram_clones(const LaneColumns& columns, const double* weights, int packets,
                                         double* sums) {
  switch (columns.count) {
    case 0: return;
    case 1: return add_whole_gram<1>(columns, weights, packets, sums);
    case 2: return add_whole_gram<2>(columns, weights, packets, sums);
    case 3: return add_whole_gram<3>(columns, weights, packets, sums);
    case 4: return add_whole_gram<4>(columns, weights, packets, sums);
    case 5: return add_whole_gram<5>(columns, weights, packets, sums);
    case 6: return add_whole_gram<6>(columns, weights, packets, sums);
    case most_columns_at_once: return add_whole_gram<most_columns_at_once>(columns, weights, packets, sums);
    default: break;
  }
  for (int a = 0; a < columns.count; a += tile)
    for (int b = a; b < columns.count; b += tile) add_tile(columns, weights, packets, a, b, sums);
}

TESSERA_LANE_CLONES void add_products_clones(const LaneColumns& columns, const double* v, int packets,
                                             double* sums) {
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

TESSERA_LANE_CLONES void quadratic_forms_clones(const LaneColumns& columns, const double* packed, int packets,
                                                double* to) {
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

TESSERA_LANE_CLONES void multiply_rows_clones(const double* a, const double* b, int packets, double* to) {
  for (std::ptrdiff_t i = 0; i < std::ptrdiff_t{lane_count} * packets; ++i) to[i] = a[i] * b[i];
}

TESSERA_LANE_CLONES void multiply_add_rows_clones(const double* a, const double* b, const double* c,
                                                  int packets, double* to) {
  for (std::ptrdiff_t i = 0; i < std::ptrdiff_t{lane_count} * packets; ++i) to[i] = a[i] * b[i] + c[i];
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
void quadratic_forms(const LaneColumns& columns, const double* packed, int packets, double* to) {
  quadratic_forms_clones(columns, packed, packets, to);
}
void multiply_rows(const double* a, const double* b, int packets, double* to) {
  multiply_rows_clones(a, b, packets, to);
}
void multiply_add_rows(const double* a, const double* b, const double* c, int packets, double* to) {
  multiply_add_rows_clones(a, b, c, packets, to);
}
void add_sum_of_products(const double* a, const double* b, const double* c, int packets, double* sum) {
  add_sum_of_products_clones(a, b, c, packets, sum);
}

}  // namespace TESSERA_NAMESPACE::gam
