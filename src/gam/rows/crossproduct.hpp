// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/tables.hpp"

#include <cstdint>

/// Arguments of the kernel that forms products of splines on matrix units: plain structures, shared by host
/// and device. crossproduct.cuh has the algorithm.
namespace TESSERA_NAMESPACE::gam {

/// Columns of a spline are grouped in quads. A row's four nonzeros lie in one or two of them: a window.
inline constexpr int quad_columns = 4;
/// Maximum number of non-spline columns, including the residual, that a group multiplies by its splines.
inline constexpr int cross_dense_columns = 4;
/// The number of rows of a chunk is a multiple of the step, two rows per lane of a warp. It is at most the
/// limit, since the sort counts in 8 bits.
inline constexpr int cross_rows_step = 64;
inline constexpr int cross_rows_limit = 192;
/// Largest quad index: it is stored in the lowest bits of a value's mantissa.
inline constexpr int cross_quads_limit = 7;

/// Maximum number of warps of a block, limited by the registers that hold each warp's sums.
inline constexpr int cross_warps_limit = 12;

/// The sums that a warp holds in registers: constants of a kernel. A task fills tiles of 16 rows x 8 columns.
struct CrossTiling {
  int windows = 0;  ///< maximum number of windows of a term
  int halves = 0;   ///< half tiles (8 rows) of a task, filled by the quads of its leaves
  int tiles = 0;    ///< tiles of a task, with room for the centre itself and for dense columns
};

/// The tiling for terms of at most this many quads.
[[nodiscard]] constexpr CrossTiling cross_tiling(int quads) {
  constexpr int tiles_of_windows = 12;  // maximum number of windows x tiles of a task
  CrossTiling tiling;
  tiling.windows = quads > 2 ? quads - 1 : 1;
  // Reserves one half tile for a product without a leaf.
  const int most = 2 * (tiles_of_windows / tiling.windows) - 1;
  tiling.halves = quads < most ? quads : most;
  tiling.tiles = (tiling.halves + 2) / 2;
  return tiling;
}

/// Sizes of the kernel's arrays in shared memory.
struct CrossShape {
  int terms = 0;   ///< maximum number of terms in a group
  int warps = 0;   ///< warps per block
  int tables = 0;  ///< maximum number of cubic coefficients of a group's terms
  int rows = 0;    ///< rows of a chunk in shared memory
};

/// A spline term of a group.
struct CrossTerm {
  int component = 0;    ///< index among the layout's components
  int columns = 0;      ///< raw columns
  int windows = 0;      ///< number of pairs of neighbouring quads; 1 for a single quad
  bool centre = false;  ///< whether it is the centre of a task (`CrossTask`): rows are sorted by its windows
};

/// Where the vector of sums holds the products of the centre (see `CrossTask`) with another term: the sum for
/// the centre's column c and the other's column o is at `begin + c * centre_step + o * other_step`.
struct CrossSums {
  std::int64_t begin = -1;  ///< -1: the products are not formed here
  int centre_step = 0;
  int other_step = 0;
};

/// The products that one warp sums: those of one term, the centre, with quads of two other terms, the leaves;
/// with itself; and with the dense columns.
struct CrossTask {
  enum class Kind { none, pair, pair_own, pair_dense, own_dense, dense };
  Kind kind = Kind::none;
  int centre = 0;          ///< index among the group's terms, like the leaves
  int leaves[2] = {};      ///< the two leaves may be equal
  int first_quad[2] = {};  ///< first quad of each leaf
  int end_quad[2] = {};    ///< end of the quads that this task sums, for each leaf
  CrossSums pairs[2];      ///< products with the leaves
  CrossSums own;           ///< products with itself; `other_step` counts from the centre's column
  CrossSums dense[cross_dense_columns];

  [[nodiscard]] constexpr bool has_leaves() const {
    return kind == Kind::pair || kind == Kind::pair_own || kind == Kind::pair_dense;
  }
  [[nodiscard]] constexpr bool has_own() const { return kind == Kind::pair_own || kind == Kind::own_dense; }
  [[nodiscard]] constexpr bool has_dense() const {
    return kind == Kind::pair_dense || kind == Kind::own_dense || kind == Kind::dense;
  }
};

/// The tasks of one CUDA block, one warp each, and the terms that they need.
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
  int dense_count;  ///< dense columns, of which the last is the residual
  /// Where the batch's values of each dense column begin, as in TermTable; -1: all ones.
  std::int64_t dense_begins[cross_dense_columns];
  /// The cubics of a cell, ordered like those of Margin, if they are the same in all cells of all terms.
  double cubics[16];
};

/// Places for a chunk's rows in the order of a term's windows, with each window padded to a multiple of four,
/// plus some for prefetching.
[[nodiscard]] constexpr int cross_order_length(int rows, int windows) {
  return (rows + 4 * windows + 16 + 7) / 8 * 8;
}

/// Number of sets of cubics of a margin: its cells and both continuations, or one set for all.
[[nodiscard]] constexpr int cross_cubic_slots(const MarginTable& margin) {
  return margin.alike ? 3 : margin.cells + 2;
}

/// Numbers of a margin in shared memory: origins, inverse widths, breaks unless uniform, cubics. Each array
/// starts at an even place, so that two numbers can be read at once.
[[nodiscard]] constexpr int cross_table_numbers(const MarginTable& margin) {
  const int slots = (margin.cells + 3) / 2 * 2;
  return 2 * slots + (margin.uniform ? 0 : slots) + 16 * cross_cubic_slots(margin);
}

}  // namespace TESSERA_NAMESPACE::gam
