// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/tables.hpp"

#include <cstdint>

/// Arguments of the kernel in crossproduct.cuh: plain structures for host and device.
namespace TESSERA_NAMESPACE::gam {

/// Columns of a spline are grouped in quads. A row's four nonzeros lie in a window of one or two quads.
inline constexpr int quad_columns = 4;
/// Maximum number of dense (non-spline) columns, including the residual, per group.
inline constexpr int cross_dense_columns = 4;
/// A chunk's rows: a multiple of the step (two rows per lane), at most the limit (sort counts have 8 bits).
inline constexpr int cross_rows_step = 64;
inline constexpr int cross_rows_limit = 192;
/// Maximum number of quads of a term. A quad's index is stored in the lowest bits of a value's mantissa.
inline constexpr int cross_quads_limit = 7;

/// Maximum number of warps per block: registers hold each warp's sums.
inline constexpr int cross_warps_limit = 12;

/// Compile-time sizes of a warp's sums in registers. A tile has 16 rows x 8 columns.
struct CrossTiling {
  int windows = 0;  ///< maximum number of windows of a term
  int halves = 0;   ///< half tiles (8 rows each) of a task for quads of its leaves
  int tiles = 0;    ///< tiles of a task, including the centre's own products and dense columns
};

[[nodiscard]] constexpr CrossTiling cross_tiling(int quads) {
  constexpr int tiles_of_windows = 12;  // maximum of windows x tiles
  CrossTiling tiling;
  tiling.windows = quads > 2 ? quads - 1 : 1;
  // Reserves a half tile for the centre's own products or dense columns.
  const int most = 2 * (tiles_of_windows / tiling.windows) - 1;
  tiling.halves = quads < most ? quads : most;
  tiling.tiles = (tiling.halves + 2) / 2;
  return tiling;
}

/// Sizes of arrays in shared memory.
struct CrossShape {
  int terms = 0;   ///< maximum number of terms in a group
  int warps = 0;   ///< warps per block
  int tables = 0;  ///< maximum over groups of the sum of the terms' `cross_table_numbers`
  int rows = 0;    ///< rows of a chunk in shared memory
};

/// A spline term of a group.
struct CrossTerm {
  int component = 0;    ///< index among the layout's components
  int columns = 0;      ///< raw columns
  int windows = 0;      ///< pairs of neighbouring quads; 1 for a single quad
  bool centre = false;  ///< is the centre of a task: rows are sorted by its windows
};

/// Place of a centre's products with another term in the vector of sums: column c of the centre and column o
/// of the other term are at `begin + c * centre_step + o * other_step`.
struct CrossSums {
  std::int64_t begin = -1;  ///< -1: the products are not formed here
  int centre_step = 0;
  int other_step = 0;
};

/// The products that one warp sums: those of one term, the centre, with quads of up to two other terms (the
/// leaves), with itself, and with the dense columns.
struct CrossTask {
  enum class Kind { none, pair, pair_own, pair_dense, own_dense, dense };
  Kind kind = Kind::none;
  int centre = 0;          ///< index among the group's terms
  int leaves[2] = {};      ///< indices among the group's terms, possibly equal
  int first_quad[2] = {};  ///< first quad of each leaf
  int end_quad[2] = {};    ///< end of the quads of each leaf
  CrossSums pairs[2];      ///< products with the leaves
  CrossSums own;           ///< products with itself; `o` is relative to column c
  CrossSums dense[cross_dense_columns];

  [[nodiscard]] constexpr bool has_leaves() const {
    return kind == Kind::pair || kind == Kind::pair_own || kind == Kind::pair_dense;
  }
  [[nodiscard]] constexpr bool has_own() const { return kind == Kind::pair_own || kind == Kind::own_dense; }
  [[nodiscard]] constexpr bool has_dense() const {
    return kind == Kind::pair_dense || kind == Kind::own_dense || kind == Kind::dense;
  }
};

/// Tasks of one CUDA block (one per warp), and their terms.
struct CrossGroup {
  int term_begin = 0;
  int term_count = 0;
  int task_begin = 0;
};

struct CrossView {
  const CrossTerm* terms;
  const CrossTask* tasks;
  const CrossGroup* groups;
  CrossShape shape;
  int dense_count;  ///< number of dense columns; the last is the residual
  /// Offset of each dense column in the batch's values, as in TermTable; -1: a column of ones.
  std::int64_t dense_begins[cross_dense_columns];
  /// See `CrossPlan::cubics`.
  double cubics[16];
};

/// Length of a chunk's list of sorted rows: each window padded to a multiple of 4, and space to prefetch.
[[nodiscard]] constexpr int cross_order_length(int rows, int windows) {
  return (rows + 4 * windows + 16 + 7) / 8 * 8;
}

/// Number of sets of cubics: one for each cell (or one for all), and one for each end's continuation.
[[nodiscard]] constexpr int cross_cubic_slots(const MarginTable& margin) {
  return margin.alike ? 3 : margin.cells + 2;
}

/// Numbers of a margin in shared memory: origins, inverse widths, breaks unless uniform, cubics; each array
/// is aligned to two numbers.
[[nodiscard]] constexpr int cross_table_numbers(const MarginTable& margin) {
  const int slots = (margin.cells + 3) / 2 * 2;
  return 2 * slots + (margin.uniform ? 0 : slots) + 16 * cross_cubic_slots(margin);
}

}  // namespace TESSERA_NAMESPACE::gam
